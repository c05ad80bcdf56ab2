export default async function ({ ask }) {
  const parse = (schema, body, wanted, name = schema) =>
    ask(
      `POST /parse?schema=${schema}`,
      { name, headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
      { body: wanted },
    );
  const good = (schema, body, data = body, name = schema) => parse(schema, body, { data }, name);
  /** The codes of the issues with their paths. */
  const bad = (schema, body, ...issues) =>
    parse(
      schema,
      body,
      (text) =>
        JSON.stringify(JSON.parse(text).issues?.map(({ code, path }) => `${code} ${path.join(".")}`.trim())) === JSON.stringify(issues),
      `${schema} with ${issues.length} issues`,
    );

  const user = { name: "  Ada ", age: 36, address: { city: "London", zip: "12345", planet: "Earth" } };
  await good("user", user, { name: "Ada", age: 36, role: "user", address: { city: "London", zip: "12345" }, tags: [] });
  await bad(
    "user",
    { name: "A", age: 1.5, role: "king", address: { zip: "1" }, tags: ["a", 1], more: 1 },
    "too_small name",
    "invalid_type age",
    "invalid_value role",
    "invalid_type address.city",
    "invalid_format address.zip",
    "invalid_type tags.1",
    "unrecognized_keys",
  );
  await ask("GET /errors", {
    body: {
      name: "ZodError",
      isError: true,
      pretty: (text) =>
        text.includes("✖ Invalid input: expected string, received number\n  → at name") && text.includes('Unrecognized key: "extra"'),
      tree: ({ errors, properties }) =>
        errors.length === 1 && properties.address.properties.city.errors.length === 1 && properties.tags.items[1].errors.length === 1,
      flat: ({ formErrors, fieldErrors }) => formErrors.length === 1 && Object.keys(fieldErrors).join() === "name,address,tags",
    },
  });
  await ask("GET /throws", {
    body: {
      isError: true,
      isReal: true,
      message: (text) => JSON.parse(text)[0].message === "Invalid input: expected object, received null",
    },
  });

  const formats = {
    email: "ada@example.test",
    url: "https://example.test/a?b=c",
    uuid: "0193fd0a-31a0-7b8e-9a43-0f5f3b7f8a11",
    datetime: "2026-01-02T03:04:05+01:00",
    date: "2028-02-29",
    ipv4: "192.0.2.1",
    ipv6: "2001:db8::1",
    cidr: "10.0.0.0/8",
    base64: "YQ==",
    jwt: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ.c2ln",
    emoji: "🦀👩‍💻",
    nanoid: "V1StGXR8_Z5jdHi6B-myT",
    ulid: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    template: "12.5px",
  };
  await good("formats", formats);
  await bad(
    "formats",
    {
      ...Object.fromEntries(Object.keys(formats).map((name) => [name, "x"])),
      date: "2026-02-29",
      ipv4: "256.0.0.1",
      datetime: "2026-01-02",
      url: "no url",
    },
    ...Object.keys(formats).map((name) => `invalid_format ${name}`),
  );
  const numbers = {
    int: 1,
    int32: -5,
    float: 1.5,
    multiple: 0.07,
    finite: 2,
    big: "12345678901234567890",
    coerced: "7",
    date: "2026-01-01",
    flag: "yes",
  };
  await good("numbers", numbers, { ...numbers, big: "12345678901234567890n", coerced: 7, date: "2026-01-01T00:00:00.000Z", flag: true });
  await bad(
    "numbers",
    {
      int: 2 ** 53,
      int32: 2 ** 31,
      float: "1",
      multiple: 0.075,
      finite: null,
      big: "x",
      coerced: "x",
      date: "2019-12-31",
      flag: "perhaps",
    },
    "too_big int",
    "too_big int32",
    "invalid_type float",
    "not_multiple_of multiple",
    "invalid_type finite",
    "invalid_type big",
    "invalid_type coerced",
    "too_small date",
    "invalid_value flag",
  );
  await good("shape", { kind: "circle", radius: 2 });
  await good("shape", { kind: "square", side: 3 }, { kind: "square", area: 9 }, "a transform");
  await bad("shape", { kind: "triangle" }, "invalid_union kind");
  await good("union", [1, 2]);
  await bad("union", [1, "2"], "invalid_union");
  await good("tuple", ["a", 1, true, false]);
  await bad("tuple", ["a"], "invalid_type 1");
  await good("record", { a: 1 });
  await bad("record", { A: 1, b: "x" }, "invalid_key A", "invalid_type b");
  await good("intersection", { a: 1, b: 2 });
  await good("map", [["a", 1]]);
  await good("set", [1, 1, 2], [1, 2]);
  await good("tree", { name: "root", children: [{ name: "leaf", children: [] }] });
  await bad(
    "tree",
    { name: "root", children: [{ name: "leaf", children: [{}] }] },
    "invalid_type children.0.children.0.name",
    "invalid_type children.0.children.0.children",
  );
  await bad("passwords", { one: "ab", two: "cd" }, "custom two", "custom");
  await good("nick", "bob");
  await bad("nick", "ada", "custom");
  await good("pipe", "1,2,3", [1, 2, 3]);
  await bad("pipe", "1", "too_small");
  await good("caught", { n: "x", any: [] }, { n: 7, any: [] });
  await good("picked", { a: "1", c: "gone", d: 2 }, { a: "1", d: 2 });
  await good("loose", { a: "1", b: 2 });

  await ask("GET /json-schema", { body: (text) => isSchema(JSON.parse(text)) });
  await ask("GET /codec", { body: [1767323045000, "1970-01-01T00:00:00.000Z", false] });
  await ask("GET /locale", { body: [/^Zu klein/, /^Too small/] });
  await ask("GET /mini", { body: [{ a: "xy" }, [{ code: "too_small", path: ["a"] }]] });
  await ask("GET /registry", { body: [{ title: "A text" }, { id: "x", description: "described" }] });
  await ask("GET /many", { body: 1000 });
}

function isSchema({ $schema, type, required, additionalProperties, properties }) {
  return (
    $schema === "https://json-schema.org/draft/2020-12/schema" &&
    type === "object" &&
    additionalProperties === false &&
    required.join() === "name,role,address,tags" &&
    properties.address.properties.zip.pattern === "^\\d{5}$" &&
    properties.age.exclusiveMinimum === 0
  );
}
