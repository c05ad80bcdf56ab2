// The standard streams of a Worker: what is written goes to its log, a line at a time; there is nothing to read.

import { core } from "ext:core/mod.js";

const { console, TextDecoder } = globalThis;
const loadStream = core.createLazyLoader("node:stream");

function output(fd, print) {
  let stream;
  return function () {
    if (stream !== undefined) {
      return stream;
    }
    const decoder = new TextDecoder();
    let rest = "";
    class SyncWriteStream extends loadStream().Writable {
      _write(chunk, _encoding, callback) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          print(line);
        }
        callback();
      }
    }
    stream = new SyncWriteStream({ decodeStrings: true });
    Object.assign(stream, { fd, _type: "fs", _isStdio: true });
    // They cannot be closed, as in Node.js.
    stream.destroySoon = stream.destroy;
    stream._destroy = (error, callback) => callback(error);
    return stream;
  };
}

let input;
function stdin() {
  if (input === undefined) {
    class ReadStream extends loadStream().Readable {
      _read() {
        this.push(null);
      }
    }
    input = Object.assign(new ReadStream(), { fd: 0 });
  }
  return input;
}

const stdout = output(1, (line) => console.log(line));
const stderr = output(2, (line) => console.error(line));

export { stderr, stdin, stdout };
