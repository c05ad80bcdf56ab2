export default async function ({ ask, see, open }) {
  const page = await open("/");
  const shell = await page.until(/<\/body>|window\.started = true/);
  const soon = await page.until(/<p>soon<\/p>/);
  const rest = await page.rest();
  await see("the head of a page", [page.status, page.headers["content-type"]], [200, "text/html; charset=utf-8"]);
  await see(
    "the shell",
    shell,
    (text) =>
      [
        /^<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"\/>/,
        /<title>A page<\/title>/,
        /<link rel="stylesheet" href="\/late\.css" data-precedence="low"\/>/,
        /<link rel="stylesheet" href="\/style\.css" data-precedence="default"\/>/,
        /<link rel="preload" href="\/font\.woff2" as="font" crossorigin="" type="font\/woff2"\/>/i,
        /<link href="https:\/\/cdn\.test" rel="dns-prefetch"\/>/,
        /<b class="dark">dark<\/b><u>CLASS<\/u><i>1<\/i>/,
        /<p>waiting for late<\/p>/,
        /<p>waiting for soon<\/p>/,
        /<p>instead of what is broken<\/p>/,
        /window\.started = true/,
      ].every((pattern) => pattern.test(text)) && !/<p>(late|soon)<\/p>/.test(text),
  );
  await see("what comes first", soon.includes("<p>late</p>"), false);
  await see(
    "what comes last",
    [/<p>late<\/p>/.test(rest), /<em>lazy<\/em>/.test(soon + rest), /\$RC\(/.test(soon + rest), rest.endsWith("</body></html>")],
    [true, true, true, true],
  );

  await ask("GET /all", { headers: { "content-type": "text/html; charset=utf-8" }, body: /<p>late<\/p>[^]*<p>soon<\/p><em>lazy<\/em>/ });
  const escaped = "&lt;&amp;&quot;&#x27;&gt;";
  const attributes = `title="${escaped}" data-n="1" aria-hidden="true" style="color:red;line-height:2;margin-top:3px;-webkit-flex:1"`;
  const inside = '<i>a</i>b<script>1 < 2</script><svg viewBox="0 0 1 1"><path stroke-width="2" xlink:href="#a"></path></svg></div>';
  await ask("GET /string", { body: `<div ${attributes}>${escaped}<!-- --> and <!-- -->2${inside}` });
  await ask("GET /static", { body: `<div ${attributes}>${escaped} and 2${inside}` });
  await ask("GET /hooks", {
    body: /^<p id="[^"]+">4<!-- --> <!-- -->8<!-- --> <!-- -->16<!-- --> <!-- -->ref<!-- --> <!-- -->server<\/p>$/,
  });
  await ask("GET /form", {
    body: '<form action="/send" method="post"><input disabled="" name="a" value="x"/><input type="checkbox" checked=""/><select name="s" multiple=""><option value="1">one</option><option value="2" selected="">two</option></select><textarea>\n\nlines</textarea></form>',
  });
  await ask("GET /prerender", { body: /<title>prerendered<\/title>[^]*<p>waited for<\/p>[^]*<!-- complete -->$/ });
  await ask("GET /broken-shell", { status: 500, body: "<h1>a broken part</h1>" });
  await ask("GET /abort", {
    body: (text) => text.includes("<p>waiting</p>") && text.includes("a digest") && !text.includes("<p>never</p>"),
  });
  await ask("GET /large", { body: (text) => text.startsWith("<ol><li>row <!-- -->0</li>") && text.endsWith("row <!-- -->9999</li></ol>") });
  await ask("GET /transformed", { body: "<P>LOWER CASE</P>" });
  await ask("GET /nowhere", { status: 404, body: "not found" });
}
