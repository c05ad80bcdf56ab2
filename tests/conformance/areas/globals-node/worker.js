import { suite } from "./suite.js";
import { globals } from "./surface.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

globals(test, recorded);
