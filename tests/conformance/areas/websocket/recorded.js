// Written by tests/conformance/run --record websocket: what the pinned workerd does. Read what a new recording changes.
export default {
  "close 1000 bye": [{"$":"undefined"},["close 1000 bye true"],["close 1000 bye true","error Uncaught Error: Network connection lost."]],
  "close 1001 ": [{"$":"undefined"},["close 1001  true"],["close 1001  true","error Uncaught Error: Network connection lost."]],
  "close 3000 x": [{"$":"undefined"},["close 3000 x true"],["close 3000 x true","error Uncaught Error: Network connection lost."]],
  "close 4999 y": [{"$":"undefined"},["close 4999 y true"],["close 4999 y true","error Uncaught Error: Network connection lost."]],
  "close 1005 ": [{"$":"error","type":"DOMException","name":"InvalidAccessError","message":"Invalid WebSocket close code: 1005."},["close 1005  true","error Uncaught Error: Network connection lost."],["close 1005  true"]],
  "close 1006 ": [{"$":"error","type":"DOMException","name":"InvalidAccessError","message":"Invalid WebSocket close code: 1006."},["close 1005  true","error Uncaught Error: Network connection lost."],["close 1005  true"]],
  "close 999 ": [{"$":"error","type":"DOMException","name":"InvalidAccessError","message":"Invalid WebSocket close code: 999."},["close 1005  true","error Uncaught Error: Network connection lost."],["close 1005  true"]],
  "close 5000 ": [{"$":"error","type":"DOMException","name":"InvalidAccessError","message":"Invalid WebSocket close code: 5000."},["close 1005  true","error Uncaught Error: Network connection lost."],["close 1005  true"]],
  "close 1015 ": [{"$":"error","type":"DOMException","name":"InvalidAccessError","message":"Invalid WebSocket close code: 1015."},["close 1005  true","error Uncaught Error: Network connection lost."],["close 1005  true"]],
  "close undefined only a reason": [{"$":"error","type":"DOMException","name":"InvalidAccessError","message":"If you specify a WebSocket close reason, you must also specify a code."},["close 1005  true","error Uncaught Error: Network connection lost."],["close 1005  true"]],
  "close 1002 ": [{"$":"undefined"},["close 1002  true"],["close 1002  true","error Uncaught Error: Network connection lost."]],
  "close 1011 server": [{"$":"undefined"},["close 1011 server true"],["close 1011 server true","error Uncaught Error: Network connection lost."]],
};
