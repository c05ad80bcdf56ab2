// The objects that the handlers of an `HTMLRewriter` get. Each says what its token says and records what is done to it; the parser
// learns of it when the handler has settled, and from then on the object is of no use.

import { core } from "ext:core/mod.js";
import { op_rewriter_check } from "ext:core/ops";

const { ReadableStream } = core.loadExtScript("ext:deno_web/06_streams.js");
const { Response, ResponsePrototype } = core.loadExtScript("ext:deno_fetch/23_response.js");

const GONE =
  "This content token is no longer valid. Content tokens are only valid during the execution of the relevant content handler.";

/** Names that need not be checked by the parser. */
const PLAIN_NAME = /^[A-Za-z][-\w]*$/;

/** The token behind an object; it has none any more when its handler has settled. */
const tokens = new WeakMap();

/** What was said of a token and what is done to it. */
class Token {
  edits = [];
  object = null;

  constructor(shown, onEndTag) {
    this.shown = shown;
    this.onEndTag = onEndTag;
  }

  /** Ends the life of the object; returns what was done to it. */
  close() {
    tokens.delete(this.object);
    return this.edits;
  }
}

/** @returns {Token} */
function tokenOf(object) {
  const token = tokens.get(object);
  if (token === undefined) throw new TypeError(GONE);
  return token;
}

/** Records an edit whose text is `content`, which may come from a stream. */
function insert(object, op, content, options) {
  const { edits } = tokenOf(object);
  if (content === undefined) {
    throw new TypeError(
      `Failed to execute '${op}' on '${object[Symbol.toStringTag]}': parameter 1 is not of type 'string or ReadableStream or Response'.`,
    );
  }
  let text = content;
  if (typeof content === "object" && content !== null) {
    if (ResponsePrototype.isPrototypeOf(content)) text = content.text();
    else if (content instanceof ReadableStream) text = new Response(content).text();
  }
  if (!(text instanceof Promise)) text = String(text);
  // The rewriting waits for it; until then nobody hears of a failure.
  else text.catch(() => {});
  edits.push({ op, text, html: Boolean(options?.html) });
  return object;
}

/** Calls the parser's check for what is not plainly right. */
function check(what, text) {
  if (!PLAIN_NAME.test(text)) op_rewriter_check(what, text);
}

/** A class that handlers get instances of and cannot make themselves. */
class Content {
  constructor(token) {
    if (!(token instanceof Token)) throw new TypeError("Illegal constructor");
    token.object = this;
    tokens.set(this, token);
  }
}

/** Content around a token, and its removal. */
const around = {
  before(content, options) {
    return insert(this, "before", content, options);
  },
  after(content, options) {
    return insert(this, "after", content, options);
  },
  replace(content, options) {
    return insert(this, "replace", content, options);
  },
  remove() {
    const { edits, shown } = tokenOf(this);
    shown.removed = true;
    edits.push({ op: "remove" });
    return this;
  },
};

const removal = {
  get removed() {
    return tokenOf(this).shown.removed;
  },
};

class Element extends Content {
  get tagName() {
    return tokenOf(this).shown.name;
  }
  set tagName(value) {
    const { edits, shown } = tokenOf(this);
    value = String(value);
    check("tag", value);
    shown.name = value.toLowerCase();
    edits.push({ op: "setName", text: value });
  }
  get attributes() {
    return tokenOf(this).shown.attributes.map(([name, value]) => [name, value]).values();
  }
  get namespaceURI() {
    return tokenOf(this).shown.namespace;
  }
  getAttribute(name) {
    name = String(name).toLowerCase();
    return tokenOf(this).shown.attributes.find(([each]) => each === name)?.[1] ?? null;
  }
  hasAttribute(name) {
    return this.getAttribute(name) !== null;
  }
  setAttribute(name, value) {
    const { edits, shown } = tokenOf(this);
    name = String(name);
    value = String(value);
    check("attribute", name);
    const lower = name.toLowerCase();
    const present = shown.attributes.find(([each]) => each === lower);
    if (present) present[1] = value;
    else shown.attributes.push([lower, value]);
    edits.push({ op: "setAttribute", text: name, value });
    return this;
  }
  removeAttribute(name) {
    const { edits, shown } = tokenOf(this);
    name = String(name).toLowerCase();
    shown.attributes = shown.attributes.filter(([each]) => each !== name);
    edits.push({ op: "removeAttribute", text: name });
    return this;
  }
  prepend(content, options) {
    return insert(this, "prepend", content, options);
  }
  append(content, options) {
    return insert(this, "append", content, options);
  }
  setInnerContent(content, options) {
    return insert(this, "setInnerContent", content, options);
  }
  removeAndKeepContent() {
    const { edits, shown } = tokenOf(this);
    shown.removed = true;
    edits.push({ op: "removeAndKeepContent" });
    return this;
  }
  onEndTag(handler) {
    const { edits, shown, onEndTag } = tokenOf(this);
    if (typeof handler !== "function") {
      throw new TypeError("Failed to execute 'onEndTag' on 'Element': parameter 1 is not of type 'function'.");
    }
    if (!shown.flag) throw new TypeError("Parser error: No end tag.");
    edits.push({ op: "onEndTag", handler: onEndTag(handler) });
  }
}

class EndTag extends Content {
  get name() {
    return tokenOf(this).shown.name;
  }
  set name(value) {
    const { edits, shown } = tokenOf(this);
    value = String(value);
    check("tag", value);
    shown.name = value.toLowerCase();
    edits.push({ op: "setName", text: value });
  }
}

class Comment extends Content {
  get text() {
    return tokenOf(this).shown.text;
  }
  set text(value) {
    const { edits, shown } = tokenOf(this);
    value = String(value);
    check("comment", value);
    shown.text = value;
    edits.push({ op: "setText", text: value });
  }
}

class Text extends Content {
  get text() {
    return tokenOf(this).shown.text;
  }
  get lastInTextNode() {
    return tokenOf(this).shown.flag;
  }
}

class Doctype extends Content {
  get name() {
    return tokenOf(this).shown.name ?? null;
  }
  get publicId() {
    return tokenOf(this).shown.publicId ?? null;
  }
  get systemId() {
    return tokenOf(this).shown.systemId ?? null;
  }
}

class DocumentEnd extends Content {
  append(content, options) {
    return insert(this, "append", content, options);
  }
}

/** Puts the members of `mixins` and the class's own on its prototype, enumerable, and names its instances. */
function finish(Class, ...mixins) {
  for (const mixin of mixins) {
    Object.defineProperties(Class.prototype, Object.getOwnPropertyDescriptors(mixin));
  }
  for (const name of Object.getOwnPropertyNames(Class.prototype)) {
    if (name !== "constructor") Object.defineProperty(Class.prototype, name, { enumerable: true });
  }
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: Class.name, configurable: true });
}

finish(Element, around, removal);
finish(EndTag, { before: around.before, after: around.after, remove: around.remove });
finish(Comment, around, removal);
finish(Text, around, removal);
finish(Doctype);
finish(DocumentEnd);

const CLASSES = { element: Element, endTag: EndTag, comments: Comment, text: Text, doctype: Doctype, end: DocumentEnd };

/** The token that the parser shows, with the object for its handler. `onEndTag` gives the handler of an end tag a number. */
function tokenFor(shown, onEndTag) {
  const token = new Token(shown, onEndTag);
  new CLASSES[shown.kind](token);
  return token;
}

export { tokenFor };
