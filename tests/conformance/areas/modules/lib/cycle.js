import { early } from "../worker.js";

// The importer is not evaluated yet: its function declarations exist, its constants do not.
export const seen = early();
export const late = () => early();
