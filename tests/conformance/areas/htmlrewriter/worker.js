import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const html = (text, init) => new Response(text, { headers: { "content-type": "text/html" }, ...init });
const rewrite = (text, build) => build(new HTMLRewriter()).transform(html(text)).text();
/** One element handler on one selector. */
const on = (text, selector, element) => rewrite(text, (rewriter) => rewriter.on(selector, { element }));

test("nothing to do", () => rewrite("<p>a</p>", (rewriter) => rewriter), "<p>a</p>");
test("setAttribute", () => on('<a href="x">y</a>', "a", (element) => element.setAttribute("href", 'z"&<')), '<a href="z&quot;&<">y</a>');
test("setAttribute: a new one", () => on("<a>y</a>", "a", (element) => element.setAttribute("Title", "t")), '<a title="t">y</a>');
test(
  "getAttribute, hasAttribute",
  async () => {
    let seen;
    await on(
      '<a HREF="x" empty>y</a>',
      "a",
      (element) =>
        (seen = [
          element.getAttribute("href"),
          element.getAttribute("empty"),
          element.getAttribute("none"),
          element.hasAttribute("href"),
          element.hasAttribute("none"),
        ]),
    );
    return seen;
  },
  ["x", "", null, true, false],
);
test("removeAttribute", () => on('<a href="x" id=i>y</a>', "a", (element) => element.removeAttribute("href")), "<a id=i>y</a>");
test(
  "attributes",
  async () => {
    let seen;
    await on("<a B=\"1\" c='2' d>y</a>", "a", (element) => (seen = [...element.attributes]));
    return seen;
  },
  [
    ["b", "1"],
    ["c", "2"],
    ["d", ""],
  ],
);
test(
  "tagName",
  async () => {
    const seen = [];
    await on("<DIV></DIV>", "div", (element) => seen.push(element.tagName, element.namespaceURI, element.removed));
    return seen;
  },
  ["div", "http://www.w3.org/1999/xhtml", false],
);
test(
  "tagName: set",
  () =>
    on("<b>x</b>", "b", (element) => {
      element.tagName = "strong";
    }),
  "<strong>x</strong>",
);
test(
  "tagName: a wrong one",
  () =>
    on("<b>x</b>", "b", (element) => {
      element.tagName = "a b";
    }),
  threw("TypeError", "Parser error: ` ` character is forbidden in the tag name"),
);
test(
  "before, after, prepend, append",
  () => on("<b>x</b>", "b", (element) => element.before("1").after("2").prepend("3").append("4")),
  "1<b>3x4</b>2",
);
test("content is escaped", () => on("<b>x</b>", "b", (element) => element.append("<i>&")), "<b>x&lt;i&gt;&amp;</b>");
test("content as HTML", () => on("<b>x</b>", "b", (element) => element.append("<i>&", { html: true })), "<b>x<i>&</b>");
test("setInnerContent", () => on("<b>x<i>y</i></b>", "b", (element) => element.setInnerContent("z")), "<b>z</b>");
test("replace", () => on("<b>x</b>y", "b", (element) => element.replace("<i>", { html: true })), "<i>y");
test("remove", () => on("a<b>x</b>c", "b", (element) => element.remove()), "ac");
test("removeAndKeepContent", () => on("a<b>x<i>y</i></b>c", "b", (element) => element.removeAndKeepContent()), "ax<i>y</i>c");
test(
  "removed",
  async () => {
    let seen;
    await on("<b>x</b>", "b", (element) => {
      element.remove();
      seen = element.removed;
    });
    return seen;
  },
  true,
);
test(
  "the order of several before and after",
  () => on("<b>x</b>", "b", (element) => element.before("1").before("2").after("3").after("4")),
  "12<b>x</b>43",
);
test("a void element", () => on("<br><img src=x>", "img", (element) => element.setAttribute("alt", "")), '<br><img src=x alt="">');
test(
  "onEndTag",
  () =>
    on("<b>x</b>", "b", (element) =>
      element.onEndTag((end) => {
        end.before("1").after("2");
      }),
    ),
  "<b>x1</b>2",
);
test(
  "onEndTag: name and remove",
  async () => {
    let name;
    const out = await on("<b>x</b>", "b", (element) =>
      element.onEndTag((end) => {
        name = end.name;
        end.remove();
      }),
    );
    return [name, out];
  },
  ["b", "<b>x"],
);
test(
  "onEndTag: a new name",
  () =>
    on("<b>x</b>", "b", (element) =>
      element.onEndTag((end) => {
        end.name = "i";
      }),
    ),
  "<b>x</i>",
);
test(
  "onEndTag: of a void element",
  () => on("<br>", "br", (element) => element.onEndTag(() => {})),
  threw("TypeError", "Parser error: No end tag."),
);

for (const [selector, expected] of Object.entries({
  "*": "div p#i p.c span a a",
  p: "p#i p.c",
  "#i": "p#i",
  ".c": "p.c",
  "div > p": "p#i p.c",
  "div p": "p#i p.c",
  "p + p": "",
  "[href]": "a",
  '[href="x"]': "a",
  '[href^="x"]': "a",
  '[href$="x"]': "a",
  '[href*="x"]': "a",
  '[href~="x"]': "a",
  '[href|="x"]': "a",
  '[HREF="X" i]': "a",
  "p:nth-child(2)": "p.c",
  "p:first-child": "p#i",
  "p:nth-of-type(2)": "p.c",
  "p:first-of-type": "p#i",
  "p:not(.c)": "p#i",
  "p, span": "p#i p.c span",
  "a[href], .c": "p.c a",
})) {
  test(
    `selector: ${selector}`,
    async () => {
      const seen = [];
      await on('<div><p id=i></p><p class="c d"></p><span></span><a href=x></a><a></a></div>', selector, (element) => {
        seen.push(
          element.tagName +
            (element.getAttribute("id") ? `#${element.getAttribute("id")}` : "") +
            (element.getAttribute("class") ? `.${element.getAttribute("class")[0]}` : ""),
        );
      });
      return seen.join(" ");
    },
    ...(selector === "p + p" ? [threw("TypeError", "Parser error: Unsupported combinator `+` in selector.")] : [expected]),
  );
}
test("selector: a wrong one", () => new HTMLRewriter().on("p:", {}), threw("TypeError", "Parser error: Unexpected end of selector."));
test(
  "selector: an unsupported pseudo-class",
  () => new HTMLRewriter().on("p:hover", {}),
  threw("TypeError", "Parser error: Unsupported pseudo-class or pseudo-element in selector."),
);
test("selector: empty", () => new HTMLRewriter().on("", {}), threw("TypeError", "Parser error: The selector is empty."));

const texts = async (markup, selector, act) => {
  const chunks = [];
  const out = await rewrite(markup, (rewriter) =>
    rewriter.on(selector, {
      text(chunk) {
        chunks.push([chunk.text, chunk.lastInTextNode]);
        act?.(chunk);
      },
    }),
  );
  return [chunks, out];
};
test("text: chunks", () => texts("<p>hello</p>", "p"), [
  [
    ["hello", false],
    ["", true],
  ],
  "<p>hello</p>",
]);
test("text: entities stay", () => texts("<p>a&amp;b</p>", "p"), [
  [
    ["a&amp;b", false],
    ["", true],
  ],
  "<p>a&amp;b</p>",
]);
test(
  "text: replace",
  () =>
    texts("<p>a</p>", "p", (chunk) => {
      if (chunk.text) chunk.replace("<b>");
    }),
  [
    [
      ["a", false],
      ["", true],
    ],
    "<p>&lt;b&gt;</p>",
  ],
);
test(
  "text: before and after",
  () =>
    texts("<p>a</p>", "p", (chunk) => {
      if (chunk.text) chunk.before("1").after("2");
    }),
  [
    [
      ["a", false],
      ["", true],
    ],
    "<p>1a2</p>",
  ],
);
test("text: remove", () => texts("<p>a<b>c</b></p>", "p", (chunk) => chunk.remove()), [
  [
    ["a", false],
    ["", true],
    ["c", false],
    ["", true],
  ],
  "<p><b></b></p>",
]);
test("text: within a child", () => texts("<p>a<b>c</b>d</p>", "p"), [
  [
    ["a", false],
    ["", true],
    ["c", false],
    ["", true],
    ["d", false],
    ["", true],
  ],
  "<p>a<b>c</b>d</p>",
]);
test(
  "comments",
  async () => {
    const seen = [];
    const out = await rewrite("<p><!-- a --></p><!--b-->", (rewriter) =>
      rewriter.on("p", {
        comments(comment) {
          seen.push(comment.text, comment.removed);
          comment.text = "new";
        },
      }),
    );
    return [seen, out];
  },
  [[" a ", false], "<p><!--new--></p><!--b-->"],
);
test(
  "comments: before, after, replace, remove",
  async () => {
    let n = 0;
    return rewrite("<p><!--a--><!--b--><!--c--></p>", (rewriter) =>
      rewriter.on("p", {
        comments(comment) {
          n++;
          if (n === 1) comment.before("1").after("2");
          if (n === 2) comment.replace("r");
          if (n === 3) comment.remove();
        },
      }),
    );
  },
  "<p>1<!--a-->2r</p>",
);
test(
  "comments: a text that would end it",
  () =>
    rewrite("<!--a-->", (rewriter) =>
      rewriter.onDocument({
        comments(comment) {
          comment.text = "a-->b";
        },
      }),
    ),
  threw("TypeError", "Parser error: Comment text shouldn't contain a comment-closing sequence."),
);
test(
  "document: doctype",
  async () => {
    let seen;
    const out = await rewrite('<!DOCTYPE html PUBLIC "p" "s"><p>', (rewriter) =>
      rewriter.onDocument({
        doctype(doctype) {
          seen = [doctype.name, doctype.publicId, doctype.systemId];
        },
      }),
    );
    return [seen, out];
  },
  [["html", "p", "s"], '<!DOCTYPE html PUBLIC "p" "s"><p>'],
);
test(
  "document: doctype without IDs",
  async () => {
    let seen;
    await rewrite("<!doctype html>", (rewriter) =>
      rewriter.onDocument({
        doctype(doctype) {
          seen = [doctype.name, doctype.publicId, doctype.systemId];
        },
      }),
    );
    return seen;
  },
  ["html", null, null],
);
test(
  "document: end",
  () =>
    rewrite("<p>x</p>", (rewriter) =>
      rewriter.onDocument({
        end(end) {
          end.append("<hr>", { html: true }).append("&");
        },
      }),
    ),
  "<p>x</p><hr>&amp;",
);
test(
  "document: text and comments",
  async () => {
    const seen = [];
    await rewrite("a<!--b--><p>c</p>", (rewriter) =>
      rewriter.onDocument({
        text(chunk) {
          if (chunk.text) seen.push(chunk.text);
        },
        comments(comment) {
          seen.push(comment.text);
        },
      }),
    );
    return seen;
  },
  ["a", "b", "c"],
);
test(
  "several handlers in order",
  async () => {
    const seen = [];
    await rewrite("<p></p>", (rewriter) =>
      rewriter
        .on("p", {
          element() {
            seen.push(1);
          },
        })
        .on("p", {
          element() {
            seen.push(2);
          },
        })
        .on("*", {
          element() {
            seen.push(3);
          },
        }),
    );
    return seen;
  },
  [1, 2, 3],
);
test(
  "an async handler",
  () =>
    on("<p>x</p><p>y</p>", "p", async (element) => {
      await scheduler.wait(1);
      element.setAttribute("a", "b");
    }),
  '<p a="b">x</p><p a="b">y</p>',
);
test(
  "an async text handler",
  () =>
    rewrite("<p>x</p>", (rewriter) =>
      rewriter.on("p", {
        async text(chunk) {
          await scheduler.wait(1);
          if (chunk.text) chunk.replace("y");
        },
      }),
    ),
  "<p>y</p>",
);
test(
  "a handler that throws",
  () =>
    on("<p>x</p>", "p", () => {
      throw new RangeError("boom");
    }),
  threw("RangeError", "boom"),
);
test(
  "an async handler that rejects",
  () =>
    on("<p>x</p>", "p", async () => {
      throw new RangeError("boom");
    }),
  threw("RangeError", "boom"),
);
test(
  "a handler object with state",
  () => {
    class Counter {
      n = 0;
      element(element) {
        element.setAttribute("n", String(++this.n));
      }
    }
    return rewrite("<p></p><p></p>", (rewriter) => rewriter.on("p", new Counter()));
  },
  '<p n="1"></p><p n="2"></p>',
);
test(
  "an element kept beyond its handler",
  async () => {
    let kept;
    await on("<p>x</p>", "p", (element) => {
      kept = element;
    });
    return kept.tagName;
  },
  threw(
    "TypeError",
    "This content token is no longer valid. Content tokens are only valid during the execution of the relevant content handler.",
  ),
);
test(
  "on: no handlers",
  () => new HTMLRewriter().on("p"),
  threw("TypeError", "Failed to execute 'on' on 'HTMLRewriter': parameter 2 is not of type 'ElementContentHandlers'."),
);
test(
  "on: a handler that is no function",
  () => new HTMLRewriter().on("p", { element: 1 }),
  threw("TypeError", "Incorrect type for the 'element' field on 'ElementContentHandlers': the provided value is not of type 'function'."),
);
test(
  "on: chains",
  () => {
    const rewriter = new HTMLRewriter();
    return [rewriter.on("p", {}) === rewriter, rewriter.onDocument({}) === rewriter];
  },
  [true, true],
);
test(
  "transform: keeps status and headers",
  async () => {
    const response = new HTMLRewriter()
      .on("p", {})
      .transform(html("<p>", { status: 404, headers: { "content-type": "text/html", "content-length": "3", etag: "x" } }));
    return [response.status, [...response.headers], await response.text()];
  },
  [
    404,
    [
      ["content-length", "3"],
      ["content-type", "text/html"],
      ["etag", "x"],
    ],
    "<p>",
  ],
);
test("transform: a response without a body", () => new HTMLRewriter().on("p", {}).transform(new Response(null)).body, null);
test(
  "transform: of a text",
  () => new HTMLRewriter().transform("<p>"),
  threw("TypeError", "Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'."),
);
test(
  "transform: a used response",
  async () => {
    const response = html("<p>");
    await response.text();
    return new HTMLRewriter().on("p", {}).transform(response).text();
  },
  threw("TypeError", "The ReadableStream has been locked to a reader."),
);
test(
  "transform: not HTML",
  () =>
    new HTMLRewriter()
      .on("p", {
        element(element) {
          element.remove();
        },
      })
      .transform(new Response("<p>x</p>y", { headers: { "content-type": "text/plain" } }))
      .text(),
  "y",
);
test(
  "transform: a charset",
  async () => {
    const response = new Response(new Uint8Array([0x3c, 0x70, 0x3e, 0xe9]), {
      headers: { "content-type": "text/html; charset=windows-1252" },
    });
    let seen = "";
    const out = new HTMLRewriter()
      .on("p", {
        text(chunk) {
          seen += chunk.text;
        },
      })
      .transform(response);
    return [[...new Uint8Array(await out.arrayBuffer())], seen];
  },
  [[60, 112, 62, 233], "é"],
);
test(
  "transform: chunks that split a tag",
  async () => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const out = new HTMLRewriter()
      .on("a", {
        element(element) {
          element.setAttribute("x", "y");
        },
      })
      .transform(new Response(readable))
      .text();
    for (const part of ["<di", "v><", "a hr", "ef=z>t</", "a></div>"]) await writer.write(new TextEncoder().encode(part));
    await writer.close();
    return out;
  },
  '<div><a href=z x="y">t</a></div>',
);
test("transform: twice with one rewriter", async () => {
  let n = 0;
  const rewriter = new HTMLRewriter().on("p", {
    element() {
      n++;
    },
  });
  await rewriter.transform(html("<p>")).text();
  await rewriter.transform(html("<p>")).text();
  return n;
}, 2);
test("content from a stream", () => on("<b>x</b>", "b", (element) => element.append(new Blob(["stream"]).stream())), "<b>xstream</b>");
test(
  "content from a Response",
  () => on("<b>x</b>", "b", (element) => element.replace(new Response("<i>r</i>"), { html: true })),
  "<i>r</i>",
);
test("content that is a number", () => on("<b>x</b>", "b", (element) => element.append(5)), "<b>x5</b>");
test("1 MB", async () => (await on("<p>x</p>".repeat(130_000), "i", () => {})).length, 1_040_000);
test("script and style are text", () => texts("<script>if (a < b) {}</script>", "script"), [
  [
    ["if (a ", false],
    ["<", false],
    [" b) {}", false],
    ["", true],
  ],
  "<script>if (a < b) {}</script>",
]);
test("a textarea", () => on("<textarea><p>x</p></textarea>", "p", (element) => element.remove()), "<textarea><p>x</p></textarea>");
test(
  "SVG",
  async () => {
    let seen;
    await on(
      "<svg><path/></svg>",
      "path",
      (element) => (seen = [element.tagName, element.namespaceURI, element.selfClosing, element.canHaveContent]),
    );
    return seen;
  },
  ["path", "http://www.w3.org/2000/svg", undefined, undefined],
);
test(
  "without new",
  () => HTMLRewriter(),
  threw(
    "TypeError",
    "Failed to construct 'HTMLRewriter': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);
test("tag", () => String(new HTMLRewriter()), "[object HTMLRewriter]");
