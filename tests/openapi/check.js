// check.js FILE: is it a valid OpenAPI document? And the control: is a document that is not told from it?
import assert from "node:assert";
import fs from "node:fs";
import SwaggerParser from "@apidevtools/swagger-parser";

const read = () => JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const api = await SwaggerParser.validate(read());
console.log(`ok   valid: OpenAPI ${api.openapi}, ${Object.keys(api.paths).length} paths`);

const broken = {
	"a response without a description": (d) => delete d.paths["/fleet.json"].get.responses["200"].description,
	"a parameter without a place": (d) => delete d.paths["/watch.json"].get.parameters[0].in,
	"a reference to nothing": (d) => (d.components.responses = {}),
};
for (const [name, spoil] of Object.entries(broken)) {
	const d = read();
	spoil(d);
	await assert.rejects(SwaggerParser.validate(d), name);
	console.log(`ok   ${name} is refused (control)`);
}
console.log(`${1 + Object.keys(broken).length} passed, 0 failed`);
