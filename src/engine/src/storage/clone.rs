//! Values as stored: V8's structured clone format, which newer versions of V8 read.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::v8;
use deno_core::v8::{ValueDeserializerHelper as _, ValueSerializerHelper as _};
use deno_error::JsErrorBox;

use super::error;

/// What came of serializing a value.
pub(super) enum Serialized {
    Bytes(Vec<u8>),
    /// User code (a getter) threw; its exception is pending again, and the op's result does not matter.
    Threw,
}

/// Objects of the platform carry this registered symbol; they are not plain data.
const HOST_OBJECT: &str = "Deno.core.hostObject";

/// Refuses everything that is not data, and remembers how V8 put it.
struct DataOnly<'a> {
    refusal: Rc<RefCell<Option<String>>>,
    /// None for a primitive value, in which no object can be.
    host_object: Option<v8::Local<'a, v8::Symbol>>,
}

impl v8::ValueSerializerImpl for DataOnly<'_> {
    fn throw_data_clone_error<'s, 'i>(
        &self,
        scope: &mut v8::PinScope<'s, 'i>,
        message: v8::Local<'s, v8::String>,
    ) {
        *self.refusal.borrow_mut() = Some(message.to_rust_string_lossy(scope));
        // The serializer stops at a pending exception; `serialize` replaces it.
        let error = v8::Exception::type_error(scope, message);
        scope.throw_exception(error);
    }

    fn has_custom_host_object(&self, _isolate: &v8::Isolate) -> bool {
        true
    }

    fn is_host_object<'s, 'i>(
        &self,
        scope: &mut v8::PinScope<'s, 'i>,
        object: v8::Local<'s, v8::Object>,
    ) -> Option<bool> {
        self.host_object.map_or(Some(false), |symbol| object.has(scope, symbol.into()))
    }

    fn write_host_object<'s, 'i>(
        &self,
        scope: &mut v8::PinScope<'s, 'i>,
        object: v8::Local<'s, v8::Object>,
        _serializer: &dyn v8::ValueSerializerHelper,
    ) -> Option<bool> {
        let class = object.get_constructor_name().to_rust_string_lossy(scope);
        let text = format!(
            "Could not serialize object of type \"{class}\". This type does not support serialization."
        );
        let message = v8::String::new(scope, &text)?;
        self.throw_data_clone_error(scope, message);
        None
    }

    fn get_shared_array_buffer_id<'s, 'i>(
        &self,
        _scope: &mut v8::PinScope<'s, 'i>,
        _buffer: v8::Local<'s, v8::SharedArrayBuffer>,
    ) -> Option<u32> {
        None
    }

    fn get_wasm_module_transfer_id<'s, 'i>(
        &self,
        _scope: &mut v8::PinScope<'s, 'i>,
        _module: v8::Local<v8::WasmModuleObject>,
    ) -> Option<u32> {
        None
    }
}

/// Reads data only: bytes that ask for more are damaged.
struct Strict;

impl v8::ValueDeserializerImpl for Strict {}

/// The stored form of `value`. Runs user code where the value has getters: no borrow of shared state may be held.
pub(super) fn serialize<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    value: v8::Local<'s, v8::Value>,
) -> Result<Serialized, JsErrorBox> {
    let refusal = Rc::new(RefCell::new(None));
    let host_object = if value.is_object() {
        let Some(name) = v8::String::new(scope, HOST_OBJECT) else { return Ok(Serialized::Threw) };
        Some(v8::Symbol::for_key(scope, name))
    } else {
        None
    };
    let serializer =
        v8::ValueSerializer::new(scope, Box::new(DataOnly { refusal: refusal.clone(), host_object }));
    serializer.write_header();
    v8::tc_scope!(let scope, scope);
    let written = serializer.write_value(scope.get_current_context(), value);
    if let Some(message) = refusal.borrow_mut().take() {
        scope.reset();
        return Err(error::data_clone(message));
    }
    if scope.has_caught() || scope.has_terminated() {
        scope.rethrow();
        return Ok(Serialized::Threw);
    }
    match written {
        Some(true) => Ok(Serialized::Bytes(serializer.release())),
        _ => Err(error::data_clone("The value could not be cloned.".to_owned())),
    }
}

/// The value of its stored form.
pub(super) fn deserialize<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    let context = scope.get_current_context();
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(Strict), bytes);
    v8::tc_scope!(let scope, scope);
    if deserializer.read_header(context) == Some(true)
        && let Some(value) = deserializer.read_value(context)
    {
        return Ok(value);
    }
    scope.reset();
    Err(JsErrorBox::generic("a stored value is damaged: it cannot be deserialized"))
}
