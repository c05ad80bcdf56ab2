// The request and the response of `setWebSocketAutoResponse`.

class WebSocketRequestResponsePair {
  #request;
  #response;

  constructor(request, response) {
    for (let i = 0; i < 2; i++) {
      if (arguments.length <= i || arguments[i] === undefined) {
        throw new TypeError(
          `Failed to construct 'WebSocketRequestResponsePair': constructor parameter ${i + 1} is not of type 'string'.`,
        );
      }
    }
    this.#request = String(request);
    this.#response = String(response);
  }

  get request() {
    return this.#request;
  }

  get response() {
    return this.#response;
  }

  static is(value) {
    return typeof value === "object" && value !== null && #request in value;
  }
}

const isAutoResponse = WebSocketRequestResponsePair.is;
delete WebSocketRequestResponsePair.is;

export { isAutoResponse, WebSocketRequestResponsePair };
