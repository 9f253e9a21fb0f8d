"use strict";
// Everything is there: begin.

const page = new Page(readModel());
listen(page);
