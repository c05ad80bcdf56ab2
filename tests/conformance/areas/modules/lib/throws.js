throw new RangeError("at the top level");
