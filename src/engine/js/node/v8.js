// node:v8: statistics that say nothing, and methods that refuse. Deno's reach flags and heap of the whole process.

import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";
import { validateFunction, validateNumber, validateString } from "ext:celld_node/internal.js";

function refusing(name, members) {
  const Class = {
    [name]: class {
      constructor() {
        throw new ERR_METHOD_NOT_IMPLEMENTED(name);
      }
    },
  }[name];
  for (const member of members) {
    Object.defineProperty(Class.prototype, member, {
      value: unsupported(member, 0, `${name}.${member}`),
      writable: true,
      configurable: true,
    });
  }
  return Class;
}

const Serializer = refusing("Serializer", [
  "writeHeader", "writeValue", "releaseBuffer", "transferArrayBuffer", "writeUint32", "writeUint64", "writeDouble",
  "writeRawBytes", "_getDataCloneError", "_getSharedArrayBufferId", "_setTreatArrayBufferViewsAsHostObjects",
  "_writeHostObject",
]);
const Deserializer = refusing("Deserializer", [
  "readHeader", "readValue", "transferArrayBuffer", "getWireFormatVersion", "readUint32", "readUint64", "readDouble",
  "readRawBytes", "_readHostObject",
]);
class DefaultSerializer extends Serializer {}
class DefaultDeserializer extends Deserializer {}

class GCProfiler {
  start() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("GCProfiler.start");
  }
  stop() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("GCProfiler.stop");
  }
}

function cachedDataVersionTag() {
  return 0;
}
function getHeapStatistics() {
  return {
    total_heap_size: 0,
    total_heap_size_executable: 0,
    total_physical_size: 0,
    total_available_size: 0,
    used_heap_size: 0,
    heap_size_limit: 0,
    malloced_memory: 0,
    peak_malloced_memory: 0,
    does_zap_garbage: 0,
    number_of_native_contexts: 0,
    number_of_detached_contexts: 0,
    total_global_handles_size: 0,
    used_global_handles_size: 0,
    external_memory: 0,
    total_allocated_bytes: 0,
  };
}
function getHeapSpaceStatistics() {
  return [];
}
function getHeapCodeStatistics() {
  return {
    code_and_metadata_size: 0,
    bytecode_and_metadata_size: 0,
    external_script_source_size: 0,
    cpu_profiler_metadata_size: 0,
  };
}
function getCppHeapStatistics() {
  return {
    committed_size_bytes: 0,
    resident_size_bytes: 0,
    used_size_bytes: 0,
    space_statistics: [],
    type_names: [],
    detail_level: "detailed",
  };
}

// Refuse only after a look at their argument.
function setFlagsFromString(flags) {
  validateString(flags, "flags");
  throw new ERR_METHOD_NOT_IMPLEMENTED("setFlagsFromString");
}
function isStringOneByteRepresentation(content) {
  validateString(content, "content");
  throw new ERR_METHOD_NOT_IMPLEMENTED("isStringOneByteRepresentation");
}
function setHeapSnapshotNearHeapLimit(limit) {
  validateNumber(limit, "limit");
  throw new ERR_METHOD_NOT_IMPLEMENTED("setHeapSnapshotNearHeapLimit");
}
function queryObjects(constructor) {
  validateFunction(constructor, "constructor");
  throw new ERR_METHOD_NOT_IMPLEMENTED("queryObjects");
}

const deserialize = unsupported("deserialize", 1);
const getHeapSnapshot = unsupported("getHeapSnapshot");
const serialize = unsupported("serialize", 1);
const stopCoverage = unsupported("stopCoverage");
const takeCoverage = unsupported("takeCoverage");
const writeHeapSnapshot = unsupported("writeHeapSnapshot", 1);

const promiseHooks = {};
for (const name of ["createHook", "onInit", "onBefore", "onAfter", "onSettled"]) {
  promiseHooks[name] = unsupported(name, 0, `promiseHooks.${name}`);
}
const startupSnapshot = {};
for (const name of ["addSerializeCallback", "addDeserializeCallback", "setDeserializeMainFunction"]) {
  startupSnapshot[name] = unsupported(name, 0, `startupSnapshot.${name}`);
}
startupSnapshot.isBuildingSnapshot = function isBuildingSnapshot() {
  return false;
};

const v8 = {
  cachedDataVersionTag,
  getHeapSnapshot,
  getHeapStatistics,
  getHeapSpaceStatistics,
  getHeapCodeStatistics,
  getCppHeapStatistics,
  setFlagsFromString,
  Serializer,
  Deserializer,
  DefaultSerializer,
  DefaultDeserializer,
  deserialize,
  takeCoverage,
  stopCoverage,
  serialize,
  writeHeapSnapshot,
  promiseHooks,
  queryObjects,
  startupSnapshot,
  setHeapSnapshotNearHeapLimit,
  GCProfiler,
  isStringOneByteRepresentation,
};

export {
  cachedDataVersionTag,
  DefaultDeserializer,
  DefaultSerializer,
  deserialize,
  Deserializer,
  GCProfiler,
  getCppHeapStatistics,
  getHeapCodeStatistics,
  getHeapSnapshot,
  getHeapSpaceStatistics,
  getHeapStatistics,
  isStringOneByteRepresentation,
  promiseHooks,
  queryObjects,
  serialize,
  Serializer,
  setFlagsFromString,
  setHeapSnapshotNearHeapLimit,
  startupSnapshot,
  stopCoverage,
  takeCoverage,
  writeHeapSnapshot,
};
export default v8;
