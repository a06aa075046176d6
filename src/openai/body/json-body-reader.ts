import type { Endpoint } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { AnswerBlocks } from '../answers/answer-blocks.ts';
import { JsonUsage } from '../answers/json-usage.ts';
import type { UsageReader } from '../answers/usage-reader.ts';
import { JsonScanner } from '../json/json-scanner.ts';
import { invalidRequest } from '../json/json-text.ts';
import { chainPrompt, chainRuns } from '../prompts/block-chain.ts';
import { BYTES_PER_TOKEN } from '../prompts/content-blocks.ts';
import { PromptMedia } from '../prompts/media-placeholder.ts';
import { ReferenceText } from '../prompts/reference-text.ts';
import type { FieldType, RequestShape } from '../prompts/request-shape.ts';
import { AnswerLengthFields } from './answer-length-fields.ts';
import type { BodyEdit } from './body-edit.ts';
import { BodyFields, MODEL_BYTES_MAX } from './body-fields.ts';
import { type BodyReader, checkBodyBytes } from './body-reader.ts';
import { ControlFields } from './control-fields.ts';
import { readHeaderFields } from './header-fields.ts';
import { ModelTarget } from './model-target.ts';
import { PriorityField } from './priority-field.ts';
import type { ReadParts } from './read-parts.ts';

interface JsonBodyOptions extends ReadParts {
  readonly shape: RequestShape;
}

/** Checks and hashes a JSON request of a known shape while it arrives. Keeps none of its bytes. */
export class JsonBodyReader implements BodyReader {
  readonly #options: JsonBodyOptions;
  readonly #controls: ControlFields | undefined;
  readonly #priority: PriorityField | undefined;
  readonly #reference: ReferenceText | undefined;
  readonly #lengths: AnswerLengthFields | undefined;
  readonly #fields: BodyFields;
  readonly #scanner: JsonScanner;
  readonly #target: ModelTarget;
  #bodyBytes = 0;
  #read: InferenceRequest | undefined;

  constructor(options: JsonBodyOptions) {
    this.#options = options;
    const { shape, hash, onIgnored } = options;
    this.#controls = onIgnored && new ControlFields(onIgnored);
    this.#priority = priorityFieldOf(options);
    const { prompts, head } = options;
    const media = new PromptMedia(prompts?.media, head.headers);
    const isReference = prompts?.referenceText === true;
    this.#reference = isReference
      ? new ReferenceText(shape.referenceParts, { hash, media })
      : undefined;
    this.#lengths = prompts?.answerLengths ? new AnswerLengthFields(shape.isChat) : undefined;
    this.#fields = new BodyFields(shape, hash, {
      controls: this.#controls,
      priority: this.#priority,
      reference: this.#reference,
      lengths: this.#lengths,
      media,
    });
    this.#scanner = new JsonScanner(this.#fields);
    this.#target = new ModelTarget(options);
  }

  get complete(): boolean {
    return this.#scanner.done;
  }

  get edit(): BodyEdit | undefined {
    const models = this.#target.replacements(this.#fields, this.complete);
    const controls = this.#controls?.replacements ?? [];
    const priorities = this.#priority?.replacements(this.#fields.firstField) ?? [];
    if (models.length + controls.length + priorities.length === 0) return undefined;
    return [...models, ...controls, ...priorities].sort((a, b) => a.start - b.start);
  }

  routedTo(endpoint: Endpoint): void {
    this.#priority?.routedTo(endpoint);
  }

  push(chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
    checkBodyBytes(this.#bodyBytes, this.#options.bodyBytesMax);
    this.#scanner.push(chunk);
  }

  peek(): InferenceRequest {
    const announced = Number(this.#options.head.headers.get('content-length') ?? 0);
    const bodyBytes = Math.max(this.#bodyBytes, Number.isSafeInteger(announced) ? announced : 0);
    const unread = bodyBytes - this.#bodyBytes;
    const chain = this.complete ? chainPrompt : chainRuns;
    return this.#request(bodyBytes, Math.ceil(unread / BYTES_PER_TOKEN), chain);
  }

  end(): InferenceRequest {
    this.#scanner.end();
    this.#check();
    this.#read = this.#request(this.#bodyBytes, 0, chainPrompt);
    return this.#read;
  }

  answerBlocks(): AnswerBlocks | undefined {
    const { values, runs } = this.#fields;
    const run = runs.at(-1);
    const { shape, hash } = this.#options;
    const { answerKeys: keys } = shape;
    if (keys === undefined || this.#read === undefined || run === undefined) return undefined;
    // The text of an answer would be another one than in the next turn.
    if (this.#reference !== undefined) return undefined;
    // One of several answers is continued, and a continued message begins no new one.
    if ((values.get('n') ?? 1) !== 1 || values.get('continue_final_message') === true) {
      return undefined;
    }
    const { prompt } = this.#read;
    return new AnswerBlocks({ prompt, run, root: this.#root(), hash, keys });
  }

  usageReader(): UsageReader {
    return new JsonUsage(this.#options.shape.usageKey, true);
  }

  /** The properties that give equal texts different hashes. */
  #root(): string {
    const { model } = this.#target.resolve(this.#fields, this.complete);
    return JSON.stringify([model, text(this.#fields.values.get(this.#options.shape.saltField))]);
  }

  #request(bodyBytes: number, unreadTokens: number, chain: typeof chainRuns): InferenceRequest {
    const { head, hash } = this.#options;
    const { values, mediaItems } = this.#fields;
    const runs = this.#reference === undefined ? this.#fields.runs : [this.#reference.run()];
    const { model, rewrite } = this.#target.resolve(this.#fields, this.complete);
    const named = readHeaderFields(head.headers, this.#options);
    const answerLength = this.#lengths?.answerLength;
    let promptBytes = 0;
    for (const run of runs) promptBytes += run.bytes;
    return {
      id: head.id,
      model,
      rewrite,
      streaming: values.get('stream') === true,
      outputTokensMax: this.#outputCap(),
      promptTokens: Math.max(1, Math.ceil(promptBytes / BYTES_PER_TOKEN)) + unreadTokens,
      prompt: chain(runs, this.#root(), hash),
      ...(mediaItems > 0 && { mediaItems }),
      ...(answerLength !== undefined && { answerLength }),
      ...named,
      bodyBytes,
    };
  }

  /** Other values bound nothing here: some servers take -1 for no bound, and "10" for 10. */
  #outputCap(): number | undefined {
    for (const path of this.#options.shape.outputCaps) {
      const value = this.#fields.values.get(path);
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    }
    return undefined;
  }

  /** What a decision needs. All else is for the model server to judge: servers differ. */
  #check(): void {
    const { shape } = this.#options;
    const { types, values } = this.#fields;
    const given = this.#target.resolve(this.#fields, true).rewrite !== undefined;
    const isNamed = (types.get('model') ?? 'null') !== 'null';
    const needsModel = shape.needsModel && (isNamed || !given);
    if (needsModel) this.#expect('model', ['string'], `${shape.name} names its model`);
    else if (isNamed) this.#expect('model', ['string'], 'it names the model');
    if (needsModel && !given && text(values.get('model')) === '') {
      throw invalidRequest(
        `field "model" is empty or too long: it must name a model (up to ${MODEL_BYTES_MAX} bytes)`,
      );
    }
    this.#checkRequired(shape);
  }

  #checkRequired({ name, required, requiredTypes, mayBeEmpty, orRequired }: RequestShape): void {
    if (required === undefined) return;
    const { types, empty } = this.#fields;
    const isGiven = (field: string): boolean => (types.get(field) ?? 'null') !== 'null';
    if (orRequired !== undefined && isGiven(orRequired) && !isGiven(required)) return;
    const what = `${name} needs its ${required}`;
    this.#expect(required, requiredTypes, what);
    if (!mayBeEmpty && types.get(required) === 'array' && empty.has(required)) {
      throw invalidRequest(`field "${required}" is an empty array: ${what}`);
    }
  }

  #expect(field: string, allowed: readonly FieldType[], why: string): void {
    const type = this.#fields.types.get(field);
    if (type === undefined) throw invalidRequest(`field "${field}" is missing: ${why}`);
    if (allowed.includes(type)) return;
    const expected = allowed.map(article).join(' or ');
    throw invalidRequest(`field "${field}" must be ${expected}, got ${article(type)}`);
  }
}

/** Undefined where the body keeps the priority that it has, as APIs without a model do. */
function priorityFieldOf(options: JsonBodyOptions): PriorityField | undefined {
  const { head, shape, propagatesPriority } = options;
  if (propagatesPriority !== true || !shape.takesModel) return undefined;
  return new PriorityField(readHeaderFields(head.headers, options).priority);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function article(type: FieldType): string {
  if (type === 'null') return 'null';
  return type === 'array' || type === 'object' ? `an ${type}` : `a ${type}`;
}
