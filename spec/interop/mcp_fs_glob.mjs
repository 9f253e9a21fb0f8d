// The conformance suite imports `globSync` from node:fs, which Node has since version 22; only its subcommand
// `tier-check` calls it. node --import mcp_fs_glob.mjs lets older versions load the suite.
import fs from "node:fs";
import { register } from "node:module";

const FS = `export * from "node:fs"; export { default } from "node:fs";
export function globSync() { throw new Error("globSync needs Node 22"); }`;

const HOOKS = `export async function resolve(specifier, context, next) {
  const isSuite = context.parentURL?.includes("/@modelcontextprotocol/conformance/");
  if (specifier !== "fs" || !isSuite) return next(specifier, context);
  return { url: ${JSON.stringify("data:text/javascript," + encodeURIComponent(FS))}, shortCircuit: true };
}`;

if (!fs.globSync) register("data:text/javascript," + encodeURIComponent(HOOKS));
