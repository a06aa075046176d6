import type { KnownDifference } from './compare-answers.ts';

/** Requests that one of the servers refuses, or ends in another way. */
const REFUSALS: readonly KnownDifference[] = [
  {
    requests: /: (?:no model|model empty|model null)$/,
    why: 'vLLM takes a request without a model for its own; the simulator refuses it with 404',
  },
  {
    requests: /x-return-error: (?:200|abc)/,
    why: 'a status that is no error is refused; the simulator answers with it',
  },
  {
    requests: /x-data-parallel-rank: 7/,
    why: 'vLLM refuses a rank that it does not have; the simulator reads no rank',
  },
  {
    requests: /cache threshold 2/,
    why: 'vLLM refuses a share above 1; the simulator takes it for none',
  },
  {
    requests: /[35] MB$/,
    why: 'a token is four bytes of text, and in the simulator a word; a body over its bound of 4 MB it answers with 200 and nothing, and closes the connection',
  },
  {
    requests: /prefill leg streamed$/,
    why: 'vLLM streams the answer of a prefill leg; the simulator refuses to',
  },
  {
    requests: /prefill leg$/,
    fact: /kv_transfer_params|finish_reason/,
    why: 'a prefill leg ends as in vLLM, by length, and names blocks by numbers; in the simulator it ends by "remote_decode", and blocks are texts',
  },
  {
    requests: /50 log probabilities$/,
    why: 'vLLM refuses more than 20 of a token; the simulator makes as many as asked',
  },
  {
    requests: /log probabilities without others$/,
    why: 'vLLM lists no alternatives where none are asked for; the simulator lists one',
  },
  {
    requests: /tools empty|one that is not there|completion: two answers/,
    why: 'the simulator answers with 500; vLLM serves the request, or says what is wrong with it',
  },
  {
    requests: /tool_choice without tools/,
    why: 'vLLM refuses it; the simulator answers without a call',
  },
  {
    requests:
      /: (?:null|a list|a text|no messages|messages empty|content null|content left out|no role|a tool without a name|a part that nobody knows)$/,
    why: 'vLLM checks the form of a body; the simulator reads what it needs',
  },
  {
    requests: /prompt empty|an empty prompt in a list|no max_tokens|n 0|no prompts/,
    why: 'vLLM serves an empty prompt where its tokenizer begins one, and generates 16 tokens where no number is asked for; the simulator refuses both',
  },
];

/** What an answer contains, and not whether the request is served. */
const NO_STATUS = /^(?!status )/;

const OTHER_APIS: readonly KnownDifference[] = [
  {
    requests:
      /^(?:GET \/ping|GET \/version|embeddings: (?:a format|model unknown|input empty)|tokenize: neither|load it again|load without a name|unload it again|chat asleep)/,
    fact: /^status /,
    why: 'served or refused as by vLLM; the simulator does the other',
  },
  {
    requests: /^(?:GET|DELETE) (?!\/metrics|\/v1\/models)/,
    fact: NO_STATUS,
    why: 'paths and methods that a server does not have are said in the form of an error of the API, and /ping and /version are there',
  },
  {
    requests: /metrics/,
    fact: NO_STATUS,
    why: 'vLLM’s page of today: more series, each with its engine, counters that end in _total; the simulator has the names of older releases',
  },
  {
    requests: /^responses/,
    fact: NO_STATUS,
    why: 'the members that vLLM writes; the simulator has fewer, and says "completed" where max_output_tokens ended the answer',
  },
  {
    requests: /^messages/,
    fact: NO_STATUS,
    why: 'vLLM counts the tokens of the prompt at the end of a stream; the simulator sends a ping; errors have the form of Anthropic’s API',
  },
  {
    requests: /^generate/,
    fact: NO_STATUS,
    why: 'the members that vLLM writes, and its usage at the end of a stream',
  },
  {
    requests: /^embeddings/,
    fact: NO_STATUS,
    why: 'the model and the format are checked as in vLLM, and an empty text is one; not so in the simulator',
  },
  {
    requests: /^tokenize: neither$/,
    fact: NO_STATUS,
    why: 'vLLM refuses what has neither prompt nor messages; the simulator counts 0 tokens',
  },
  {
    requests: /^render/,
    fact: NO_STATUS,
    why: 'vLLM adds the request to the tokens, as /inference/v1/generate takes it; the simulator has the tokens alone, and makes up data of images',
  },
  {
    requests: /load/,
    fact: NO_STATUS,
    why: 'vLLM says what it did with an adapter, and refuses one that is there or is not; the simulator says nothing',
  },
  {
    requests: /^(?:chat asleep|sleep|wake|asleep|awake)/,
    fact: NO_STATUS,
    why: 'a server that sleeps answers when it wakes up, and weights alone do not wake it; the simulator answers asleep',
  },
  {
    requests: /^(?:settings|change)/,
    fact: NO_STATUS,
    why: 'those settings are shown that have an effect here, under the simulator’s names',
  },
];

const FORM: readonly KnownDifference[] = [
  {
    whose: 'theirs',
    fact: /^header (?:server|content-type|allow):/,
    why: 'the library of the server: vLLM’s names the charset of texts, and not itself',
  },
  {
    whose: 'ours',
    fact: /^header content-type: text\/event-stream; charset=utf-8$/,
    why: 'the library of the server: vLLM’s names the charset of texts, and not itself',
  },
  {
    whose: 'ours',
    fact: /^header x-(?:inference|request-id)/,
    why: 'headers that name the server and the request are on errors and other answers, too',
  },
  {
    fact: /: (?:null|\[\]|\{\})$/,
    why: 'vLLM writes members without a value that the simulator leaves out, and the other way',
  },
  {
    whose: 'theirs',
    fact: /cached_tokens: number$/,
    why: 'vLLM counts no cached tokens where there are none; the simulator says 0',
  },
  { whose: 'ours', fact: /error\.param: "/, why: 'vLLM names the field that is wrong' },
  {
    fact: /^order /,
    why: 'vLLM begins with an empty text, and ends in the chunk of the last token; the simulator has a chunk for the end alone',
  },
  {
    fact: /(?:completion|output)_tokens: \d+$|finish_reason: (?:"stop"|"length"|null)$/,
    why: 'the lengths of answers are drawn, except with ignore_eos; usage in each chunk is vLLM’s',
  },
  {
    requests: /tools/,
    fact: /tool_calls|delta\.content|finish_reason/,
    why: 'vLLM numbers calls in streams only, and names a function in the first chunk of its call',
  },
  {
    requests: /cache threshold/,
    fact: /delta|message\.content/,
    why: 'an answer without tokens has an empty text, as vLLM’s; the simulator’s has none',
  },
];

/**
 * Differences of the stub from llm-d's simulator that stay, and why: in most the simulator differs
 * from vLLM, which the stub stands for. The first that fits a difference is its reason.
 */
export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [...REFUSALS, ...OTHER_APIS, ...FORM];
