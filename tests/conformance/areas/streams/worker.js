import { bytesCases } from "./bytes.js";
import { pipeCases } from "./pipe.js";
import { readableCases } from "./readable.js";
import { suite } from "./suite.js";
import { workerdCases } from "./workerd.js";
import { writableCases } from "./writable.js";

const { test, handler } = suite();
export default handler;

for (const cases of [readableCases, bytesCases, writableCases, pipeCases, workerdCases]) cases(test);
