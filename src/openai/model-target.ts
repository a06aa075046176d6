import type { ModelRewrite } from '../framework/request.ts';
import type { BodyEdit } from './body-edit.ts';
import type { BodyFields } from './body-fields.ts';
import type { RequestHead } from './body-reader.ts';
import { modelRewriteHeader } from './header-fields.ts';
import type { RequestShape } from './request-shape.ts';

/** By which rule a request of this model, `''` for none, goes to another; undefined where none says so. */
export type RewriteOf = (
  model: string,
  requestId: string,
) => { readonly rule: string; readonly model: string } | undefined;

export interface ModelTargetOptions {
  readonly head: RequestHead;
  readonly shape: RequestShape;
  readonly rewriteOf: RewriteOf;
}

interface Target {
  /** What the model server is to be asked for. */
  readonly model: string;
  readonly rewrite: ModelRewrite | undefined;
}

/**
 * Which model a request is for: what a rule says of the name in its body, else what a header says, else that name. A
 * name is looked up once: rules may change while a body comes, and the answer must not.
 */
export class ModelTarget {
  readonly #options: ModelTargetOptions;
  #askedFor: string | undefined;
  #target: Target = { model: '', rewrite: undefined };

  constructor(options: ModelTargetOptions) {
    this.#options = options;
  }

  /** `complete`: no field can come any more, so that a model not seen is not there. */
  resolve(fields: BodyFields, complete: boolean): Target {
    const value = fields.values.get('model');
    const requestedModel = typeof value === 'string' ? value : '';
    const seen = fields.model !== undefined;
    // Without a name: only where an API has one; others choose no model, and must not be sent one.
    const rewritable = seen || (complete && this.#options.shape.needsModel);
    if (!rewritable) return { model: requestedModel, rewrite: undefined };
    if (this.#askedFor !== requestedModel) this.#lookUp(requestedModel);
    return this.#target;
  }

  /** How to write it into the body, where it is another than the one there. */
  edit(fields: BodyFields, complete: boolean): BodyEdit | undefined {
    const { model, rewrite } = this.resolve(fields, complete);
    if (rewrite === undefined || rewrite.requestedModel === model) return undefined;
    const name = JSON.stringify(model);
    const { firstField: at, model: place } = fields;
    if (place !== undefined) return { ...place, text: encoder.encode(name) };
    return { start: at, end: at, text: encoder.encode(`"model":${name},`) };
  }

  #lookUp(requestedModel: string): void {
    const { head, rewriteOf } = this.#options;
    const found = rewriteOf(requestedModel, head.id);
    const model = found?.model ?? modelRewriteHeader(head.headers) ?? requestedModel;
    const decided = found !== undefined || model !== requestedModel;
    const rewrite = decided ? { requestedModel, rule: found?.rule } : undefined;
    this.#askedFor = requestedModel;
    this.#target = { model, rewrite };
  }
}

const encoder = new TextEncoder();
