// `HTMLRewriter`: the handlers of a Worker behind the parser in src/web/rewriter. It shows one token at a time and waits for the
// answer, so a handler may be asynchronous.

import { core } from "ext:core/mod.js";
import {
  op_rewriter_check_selector,
  op_rewriter_close,
  op_rewriter_end,
  op_rewriter_new,
  op_rewriter_resume,
  op_rewriter_take,
  op_rewriter_write,
} from "ext:core/ops";
import { bytesOf } from "ext:celld_web/chunk.js";
import { tokenFor } from "ext:celld_web/rewriter_tokens.js";

const { ReadableStream } = core.loadExtScript("ext:deno_web/06_streams.js");
const { Response, ResponsePrototype } = core.loadExtScript("ext:deno_fetch/23_response.js");

const ELEMENT = ["element", "comments", "text"];
const DOCUMENT = ["doctype", "comments", "text", "end"];

/** The functions of a handlers object that there are. */
function readHandlers(given, names, method, position, type) {
  if ((typeof given !== "object" && typeof given !== "function") || given === null) {
    throw new TypeError(`Failed to execute '${method}' on 'HTMLRewriter': parameter ${position} is not of type '${type}'.`);
  }
  const functions = {};
  for (const name of names) {
    const handler = given[name];
    if (handler === undefined) continue;
    if (typeof handler !== "function") {
      throw new TypeError(`Incorrect type for the '${name}' field on '${type}': the provided value is not of type 'function'.`);
    }
    functions[name] = handler;
  }
  return { self: given, functions };
}

/** The charset of a response, UTF-8 when it names none. */
function charsetOf(response) {
  const type = response.headers.get("content-type") ?? "";
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1] ?? "utf-8";
}

/** One document on its way through the parser. */
class Rewriting {
  #native;
  #handlers;
  /** Handlers of end tags, by number, until they are called. */
  #endTags = new Map();
  #nextEndTag = 0;

  constructor(handlers, charset) {
    this.#handlers = handlers;
    this.#native = op_rewriter_new(
      handlers.map(({ selector, functions }) => ({
        selector,
        element: "element" in functions,
        comments: "comments" in functions,
        text: "text" in functions,
        doctype: "doctype" in functions,
        end: "end" in functions,
      })),
      charset,
    );
  }

  /** The output that follows from `chunk`, or from the end of the document. */
  async feed(chunk) {
    let shown = chunk === null ? op_rewriter_end(this.#native) : op_rewriter_write(this.#native, chunk);
    while (shown !== null) {
      const token = tokenFor(shown, (handler) => this.#onEndTag(handler));
      const result = this.#call(shown, token);
      if (typeof result?.then === "function") await result;
      const edits = token.close();
      for (const edit of edits) {
        // Content from streams is collected: the parser does not go on before it is there anyway.
        if (typeof edit.text === "object") edit.text = await edit.text;
      }
      shown = op_rewriter_resume(this.#native, edits);
    }
    return op_rewriter_take(this.#native);
  }

  close() {
    op_rewriter_close(this.#native);
  }

  #onEndTag(handler) {
    this.#endTags.set(this.#nextEndTag, handler);
    return this.#nextEndTag++;
  }

  #call({ kind, handler }, token) {
    if (kind === "endTag") {
      const called = this.#endTags.get(handler);
      this.#endTags.delete(handler);
      return called(token.object);
    }
    const { self, functions } = this.#handlers[handler];
    return Reflect.apply(functions[kind], self, [token.object]);
  }
}

class HTMLRewriter {
  #handlers = [];

  /** Handlers for the elements that `selector` matches. */
  on(selector, handlers) {
    if (arguments.length === 0) {
      throw new TypeError("Failed to execute 'on' on 'HTMLRewriter': parameter 1 is not of type 'string'.");
    }
    const read = readHandlers(handlers, ELEMENT, "on", 2, "ElementContentHandlers");
    selector = String(selector);
    op_rewriter_check_selector(selector);
    this.#handlers.push({ selector, ...read });
    return this;
  }

  /** Handlers for what belongs to no element. */
  onDocument(handlers) {
    this.#handlers.push({ selector: null, ...readHandlers(handlers, DOCUMENT, "onDocument", 1, "DocumentContentHandlers") });
    return this;
  }

  /** The response with its body rewritten while it is read. */
  transform(response) {
    if (typeof response !== "object" || response === null || !ResponsePrototype.isPrototypeOf(response)) {
      throw new TypeError("Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'.");
    }
    const { body } = response;
    if (body === null) return new Response(null, response);
    if (response.bodyUsed || body.locked) throw new TypeError("The ReadableStream has been locked to a reader.");
    const rewriting = new Rewriting([...this.#handlers], charsetOf(response));
    return new Response(rewritten(body.getReader(), rewriting), response);
  }

  get [Symbol.toStringTag]() {
    return "HTMLRewriter";
  }
}

/** The document that `reader` gives, rewritten. */
function rewritten(reader, rewriting) {
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        for (;;) {
          const { value, done } = await reader.read();
          const output = await rewriting.feed(done ? null : bytesOf(value));
          if (output.byteLength > 0) controller.enqueue(output);
          if (done) {
            rewriting.close();
            controller.close();
            controller.byobRequest?.respond(0);
            return;
          }
          if (output.byteLength > 0) return;
        }
      } catch (error) {
        rewriting.close();
        reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel(reason) {
      rewriting.close();
      return reader.cancel(reason);
    },
  });
}

for (const name of ["on", "onDocument", "transform"]) {
  Object.defineProperty(HTMLRewriter.prototype, name, { enumerable: true });
}

export { HTMLRewriter };
