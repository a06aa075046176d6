const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?';
const KEY = `(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?${NAME}`;
const VALUE = `(?:${NAME})?`;
const VALUES = `\\(\\s*${VALUE}(?:\\s*,\\s*${VALUE})*\\s*\\)`;
const REQUIREMENT = new RegExp(
  `^(?:!\\s*${KEY}|${KEY}|${KEY}\\s*(?:=|==|!=)\\s*${VALUE}|${KEY}\\s+(?:in|notin)\\s*${VALUES}|${KEY}\\s*[<>]\\s*\\d+)$`,
);
/** A comma that is not within parentheses. */
const BETWEEN = /,(?![^(]*\))/;

/**
 * A label selector as Kubernetes reads it: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`,
 * separated by commas. `fault` is one sentence that says what is wrong: the API server would say it
 * only after the start.
 */
export function readSelector(text: string): { readonly text: string } | { readonly fault: string } {
  const requirements = text.split(BETWEEN).map((each) => each.trim());
  if (requirements.every((each) => each === '')) {
    return { fault: 'selects every pod of the namespace: give it a label, such as app=vllm' };
  }
  const wrong = requirements.find((each) => !REQUIREMENT.test(each));
  if (wrong === undefined) return { text: requirements.join(',') };
  return {
    fault: `has ${JSON.stringify(wrong.slice(0, 100))}, which is no requirement such as app=vllm, env in (a,b) or !old`,
  };
}
