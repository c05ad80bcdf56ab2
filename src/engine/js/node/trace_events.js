// node:trace_events: categories can be enabled; nothing is traced.

import { ERR_INVALID_ARG_TYPE, NodeTypeError, validateObject, validateString } from "ext:celld_node/internal.js";

class Tracing {
  #enabled = false;
  #categories;
  constructor(categories) {
    this.#categories = categories;
  }
  enable() {
    this.#enabled = true;
  }
  disable() {
    this.#enabled = false;
  }
  get enabled() {
    return this.#enabled;
  }
  get categories() {
    return this.#categories.join(",");
  }
}

function createTracing(options) {
  validateObject(options, "options");
  const { categories } = options;
  if (!Array.isArray(categories)) {
    throw new ERR_INVALID_ARG_TYPE("options.categories", "Array", categories);
  }
  categories.forEach((each, index) => validateString(each, `options.categories[${index}]`));
  if (categories.length === 0) {
    throw new NodeTypeError("ERR_TRACE_EVENTS_CATEGORY_REQUIRED", "At least one category is required");
  }
  return new Tracing([...categories]);
}

function getEnabledCategories() {
  return undefined;
}

export { createTracing, getEnabledCategories };
export default { createTracing, getEnabledCategories };
