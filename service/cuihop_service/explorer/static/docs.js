// The page about the operations: each with its parameters, a form to try it, and the same request for programs.

import "./appearance.js";
import { el, fill, announce, copyButton } from "./dom.js";
import { key } from "./service.js";
import { sortableTable } from "./sortable_table.js";

const SHOWN = 20_000; // characters of an answer
const GRPC_PORT = 50051; // by default
const GROUPS = { distances: "Distances", relevance: "Relevance", similarity: "Similarity", concepts: "Concepts", release: "Release" };
const KEY = "CUIHOP_KEY";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const list = /** @type {HTMLElement} */ (document.getElementById("list"));
const operations = /** @type {HTMLDetailsElement} */ (document.getElementById("operations"));
const forget = /** @type {HTMLButtonElement} */ (document.getElementById("forget"));

/** @type {any} */
let openapi = null;
/** @type {{id: string, method: string, path: string, about: any}[]} */
let all = [];
let tab = "curl";

/** A text with code between grave accents. */
function prose(text = "") {
  return text.split(/`+([^`]+)`+/).map((piece, index) => (index % 2 ? el("code", {}, piece) : piece));
}

function resolved(schema) {
  return schema?.$ref ? openapi.components.schemas[schema.$ref.split("/").pop()] : (schema ?? {});
}

/** The type of a schema in words. */
function typeOf(schema) {
  const one = resolved(schema);
  if (one.enum) return one.enum.join(" or ");
  if (one.anyOf) return one.anyOf.map(typeOf).join(" or ");
  if (one.prefixItems) return `list of ${one.prefixItems.map(typeOf).join(", ")}`;
  if (one.type === "array") return `list of ${typeOf(one.items)}`;
  return one.const ?? one.type ?? "value";
}

function example(schema, otherwise) {
  return resolved(schema).examples?.[0] ?? schema.examples?.[0] ?? otherwise;
}

/** The body of an operation: its media type and schema, and the values to begin with. */
function bodyOf(about) {
  const [type, content] = Object.entries(about.requestBody?.content ?? {})[0] ?? [];
  if (!type) return null;
  const schema = resolved(content.schema);
  const needed = schema.required ?? ["pairs"];
  return { type, schema, values: Object.fromEntries(needed.map((name) => [name, example(schema.properties[name], 1)])) };
}

/** The value of a text in JSON; null for any other text. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A value of JSON as Python writes it. */
function python(value) {
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each)}`).join(", ")}}`;
  return value === null ? "None" : value === true ? "True" : value === false ? "False" : JSON.stringify(value);
}

/** A text as one word of a shell. */
function shell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A value as the message of gRPC has it; `form` is that of x-grpc. */
function inMessage(value, form) {
  const one = (each) => {
    if (form.words) return form.words + String(each).toUpperCase().replaceAll("-", "_");
    const names = Object.keys(form.fields ?? {});
    if (!names.length || each === null) return each;
    if (Array.isArray(each) && names.length === 1) return { [names[0]]: inMessage(each, form.fields[names[0]]) };
    const pairs = Array.isArray(each) ? each.map((item, index) => [names[index], item]) : Object.entries(each);
    return Object.fromEntries(pairs.map(([name, item]) => [name, inMessage(item, form.fields[name] ?? {})]));
  };
  return form.repeated && Array.isArray(value) ? value.map(one) : one(value);
}

function message(values, fields) {
  const result = {};
  for (const [name, value] of Object.entries(values)) {
    const form = fields[name];
    if (!form || value === null) continue;
    const target = form.in ? (result[form.in] ??= {}) : result;
    target[name] = inMessage(value, form);
  }
  return result;
}

/** The headers of a request as both Python and JavaScript write them; the key is read from a variable. */
function heads(type, secret) {
  const written = [type && `"Content-Type": "${type}"`, key.get() && `"Authorization": "Bearer " + ${secret}`].filter(Boolean);
  return written.length ? `{${written.join(", ")}}` : "";
}

/** The same request in each language. A request with a body has a `type`; its `values` are null where it is no JSON. */
const PROGRAMS = {
  curl({ url, type, text }) {
    const secret = key.get() && `-H "Authorization: Bearer $${KEY}"`;
    return [`curl -s ${shell(url)}`, secret, type && `-H 'Content-Type: ${type}' \\\n  -d ${shell(text)}`].filter(Boolean).join(" \\\n  ");
  },
  Python({ url, type, text, values }) {
    const body = values ? `json.dumps(${python(values)})` : JSON.stringify(text);
    const sent = heads(type, `os.environ["${KEY}"]`);
    const given = [JSON.stringify(url), type && `data=${body}.encode()`, sent && `headers=${sent}`].filter(Boolean);
    return `import json${key.get() ? "\nimport os" : ""}\nfrom urllib.request import Request, urlopen\n
request = Request(\n    ${given.join(",\n    ")},\n)\nwith urlopen(request) as response:
    for line in response:\n        print(json.loads(line))`;
  },
  gRPC({ values, grpc }) {
    if (!grpc) return "# No procedure of its own. The operation for many concepts or pairs has one with the same answers.";
    const secret = key.get() && `-H "authorization: Bearer $${KEY}"`;
    const called = `grpcurl${location.protocol === "https:" ? "" : " -plaintext"} -d ${shell(JSON.stringify(message(values ?? {}, grpc.fields)))}`;
    return [called, secret, `${location.hostname}:${GRPC_PORT} ${grpc.procedure}`].filter(Boolean).join(" \\\n  ");
  },
  JavaScript({ url, type, text, values }) {
    const body = values ? `JSON.stringify(${JSON.stringify(values)})` : JSON.stringify(text);
    const sent = heads(type, `process.env.${KEY}`);
    const options = [type && `method: "POST",\n  body: ${body}`, sent && `headers: ${sent}`].filter(Boolean);
    return `const response = await fetch(${JSON.stringify(url)}${options.length ? `, {\n  ${options.join(",\n  ")},\n}` : ""});
console.log(await response.text());`;
  },
};

/** Tabs with the request in each language; `current` gives the request. */
function programs(current) {
  const code = el("pre", { tabindex: "0", id: "program", role: "tabpanel" });
  const names = Object.keys(PROGRAMS);
  const tabs = names.map((name) => el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "program",
    onclick: () => choose(name), onkeydown: (event) => move(event) }, name));
  function choose(name) {
    tab = name;
    for (const each of tabs) {
      const chosen = each.textContent === name;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
    }
    code.setAttribute("aria-labelledby", `tab-${name}`);
    code.textContent = PROGRAMS[name](current());
  }
  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (names.indexOf(tab) + step + names.length) % names.length;
    choose(names[next]);
    tabs[next].focus();
  }
  choose(tab);
  return { refresh: () => choose(tab), element: el("section", { class: "card" },
    el("h2", {}, "From a program"),
    key.get() && el("p", { class: "hint" }, "The key is read from the variable ", el("code", {}, KEY), "."),
    el("div", { role: "tablist", "aria-label": "Language" }, tabs), code,
    copyButton("Copy", () => code.textContent, "Copy the program")) };
}

/** A field of the form for a parameter of the query. */
function parameterField({ name, schema, required, description }) {
  const id = `parameter-${name}`;
  const choices = schema.enum ?? resolved(schema).enum;
  const isNumber = schema.type === "integer" || schema.anyOf?.some((each) => each.type === "integer");
  const start = required ? example(schema, "heart") : "";
  const shared = { id, name, required, "aria-describedby": `${id}-about` };
  const input = choices
    ? el("select", shared, choices.map((each) => el("option", { value: each, selected: each === schema.default }, each)))
    : el("input", { ...shared, type: isNumber ? "number" : "text", value: start, autocomplete: "off", spellcheck: "false",
      placeholder: schema.default !== undefined && String(schema.default) ? String(schema.default) : null });
  return el("div", {}, el("label", { for: id }, name, " ", el("small", {}, required ? "required" : choices ? "" : typeOf(schema))), input,
    el("p", { class: "hint", id: `${id}-about` }, prose(description ?? schema.description)));
}

function fieldsTable(label, schema, asked = false) {
  const needed = (name) => schema.required?.includes(name) ?? false;
  const fields = Object.entries(schema.properties ?? {}).sort(([one], [other]) => Number(needed(other)) - Number(needed(one)));
  return sortableTable(label, [{ head: "Name", cell: ([name]) => el("code", {}, name) }, { head: "Type", cell: ([, each]) => typeOf(each) },
    { head: "Meaning", cell: ([name, each]) => [asked && needed(name) && "Required. ", prose(each.description)] }], fields);
}

/** The values of the form: those of the query, or the body. A number is a number, and a list has commas. */
function queryValues(form, parameters) {
  const values = {};
  for (const { name, schema, required } of parameters) {
    const text = form.elements[name].value.trim();
    if (!text || (!required && text === String(schema.default))) continue;
    values[name] = schema.type === "array" ? text.split(/[\s,]+/) : form.elements[name].type === "number" ? Number(text) : text;
  }
  return values;
}

function operationView({ id, method, path, about }) {
  const parameters = (about.parameters ?? []).filter((each) => each.in === "query");
  const body = bodyOf(about);
  const area = body && el("textarea", { id: "body", rows: 8, spellcheck: "false", value: JSON.stringify(body.values, null, 2) });
  const secret = el("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false",
    placeholder: key.get() ? "in use" : "none", "aria-describedby": "key-about" });
  const answer = el("div", { id: "answer" });
  const form = el("form", { class: "card form" },
    el("h2", {}, "Try it"),
    parameters.length > 0 && el("div", { class: "parameters" }, parameters.map(parameterField)),
    area && [el("label", { for: "body" }, `Body, ${body.type}`), area],
    el("div", { class: "key" }, el("label", { for: "key" }, "API key or token"), secret,
      el("p", { class: "hint", id: "key-about" }, "Only if the service asks for one. It is kept until this tab is closed.")),
    el("p", { class: "row" }, el("button", { type: "submit" }, "Send")));
  const current = () => {
    const url = new URL(path.slice(1), document.baseURI);
    if (!body) {
      const values = queryValues(form, parameters);
      for (const [name, value] of Object.entries(values)) [value].flat().forEach((each) => url.searchParams.append(name, each));
      return { method, url: url.href, type: "", text: "", values, grpc: about["x-grpc"] };
    }
    const values = parsed(area.value);
    return { method, url: url.href, type: body.type, text: values ? JSON.stringify(values) : area.value, values, grpc: about["x-grpc"] };
  };
  const code = programs(current);
  form.addEventListener("input", code.refresh);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (secret.value.trim()) key.set(secret.value.trim());
    secret.value = "";
    if (key.get()) secret.placeholder = "in use";
    forget.hidden = !key.get();
    code.refresh();
    send(current(), answer, secret);
  });
  const answered = about.responses["200"]?.content?.["application/json"]?.schema;
  fill(main,
    el("h1", {}, el("span", { class: "method" }, method), " ", el("code", {}, path)),
    el("p", {}, prose(about.description)),
    form, answer, code.element,
    body && [el("h2", {}, "Fields of the body"), fieldsTable("Fields of the body", body.schema, true)],
    answered && el("details", {}, el("summary", {}, "Fields of the answer"), fieldsTable("Fields of the answer", resolved(answered))));
  document.title = `${id} – cuihop for programs`;
}

/** Sends a request, and shows the answer as it came. */
async function send({ method, url, type, text }, target, secret) {
  const headers = type ? { "Content-Type": type } : {};
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  const began = performance.now();
  try {
    const response = await fetch(url, { method, headers, body: type ? text : undefined, credentials: "same-origin" });
    const came = await response.text();
    const took = `${response.status}, ${Math.round(performance.now() - began)} ms, ${came.length.toLocaleString("en")} characters`;
    const values = parsed(came); // lines of JSON, or no JSON at all, are shown as they came
    const content = values ? JSON.stringify(values, null, 2) : came;
    const cut = content.length > SHOWN;
    fill(target, el("section", { class: response.ok ? "card" : "problem" }, el("h2", {}, "Answer ", el("small", { id: "status" }, took)),
      el("pre", { tabindex: "0", "aria-label": "Answer" }, cut ? `${content.slice(0, SHOWN)}…` : content),
      cut && el("p", { class: "hint" }, "The rest is not shown.")));
    announce(`Answered: ${took}`);
    if (response.status === 401) secret.focus();
  } catch {
    fill(target, el("p", { class: "problem", role: "alert" }, "The service does not answer."));
  }
}

function startView() {
  fill(main, el("h1", {}, "The service for programs"),
    el("p", {}, "Every operation as an HTTP request, with a form to try it. Most are procedures of gRPC, too, which has reflection. ",
      "In Python, ", el("code", {}, "cuihop.connect"), " gives a graph that asks this service; ",
      el("a", { href: "openapi.json" }, "openapi.json"), " describes it for generators of clients."),
    sortableTable("Operations", [{ head: "Operation", cell: ({ id }) => el("a", { href: `#${id}` }, id) },
      { head: "Request", cell: ({ method, path }) => el("code", {}, `${method} ${path}`) },
      { head: "Answer", cell: ({ about }) => prose((about.description ?? "").split("\n")[0]) }], all));
  document.title = "cuihop for programs";
}

function show() {
  const id = location.hash.slice(1);
  for (const link of list.querySelectorAll("a")) {
    if (link.hash === location.hash) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const operation = all.find((each) => each.id === id);
  if (operation) operationView(operation);
  else startView();
}

async function begin() {
  forget.hidden = !key.get();
  try {
    openapi = await (await fetch(new URL("openapi.json", document.baseURI), { credentials: "same-origin" })).json();
  } catch {
    fill(main, el("section", { class: "problem", role: "alert" }, el("h1", {}, "The service does not answer"),
      el("p", {}, el("button", { type: "button", onclick: begin }, "Try again"))));
    return;
  }
  all = Object.entries(openapi.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => (
    { id: about.operationId, method: method.toUpperCase(), path, about })));
  const groups = [...new Set(all.map(({ about }) => about.tags[0]))];
  fill(list, groups.map((group) => [el("h2", {}, GROUPS[group] ?? group), all.filter(({ about }) => about.tags[0] === group).map(({ id, method }) =>
    el("a", { href: `#${id}` }, id, " ", el("span", { class: "method" }, method)))]));
  show();
}

forget.addEventListener("click", () => {
  key.forget();
  forget.hidden = true;
  announce("The key is forgotten");
  show();
});
addEventListener("hashchange", () => {
  show();
  if (narrow.matches) operations.open = false;
  scrollTo(0, 0);
  main.focus();
});
const narrow = matchMedia("(max-width: 40rem)");
const unfold = () => (operations.open = !narrow.matches);
narrow.addEventListener("change", unfold);
unfold();
begin();
