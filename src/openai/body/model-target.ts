import type { ModelRewrite } from '../../framework/request.ts';
import type { RequestShape } from '../prompts/request-shape.ts';
import type { Replacement } from './body-edit.ts';
import type { BodyFields } from './body-fields.ts';
import type { RequestHead } from './body-reader.ts';
import { modelRewriteHeader } from './header-fields.ts';

/** The rule that sends a request for `model` (`''` if it names none) to another model, if any. */
export type RewriteOf = (
  model: string,
  requestId: string,
) => { readonly rule: string; readonly model: string } | undefined;

interface ModelTargetOptions {
  readonly head: RequestHead;
  readonly shape: RequestShape;
  readonly rewriteOf: RewriteOf;
}

interface Target {
  /** The name that the model server gets. */
  readonly model: string;
  readonly rewrite: ModelRewrite | undefined;
}

/**
 * Resolves a model: by a rule for the body's name, else by a header, else that name. Looks a name
 * up once: a rule changed while the body arrives has no effect.
 */
export class ModelTarget {
  readonly #options: ModelTargetOptions;
  #resolvedFor: string | undefined;
  #target: Target = { model: '', rewrite: undefined };

  constructor(options: ModelTargetOptions) {
    this.#options = options;
  }

  /** `complete`: the body has ended, so a model not seen is missing. */
  resolve(fields: BodyFields, complete: boolean): Target {
    const value = fields.values.get('model');
    const requestedModel = typeof value === 'string' ? value : '';
    // A missing name is replaced only in APIs that have one; others must not get a model.
    const isReplaced = typeof value === 'string' || this.#options.shape.takesModel;
    if (!isReplaced || (fields.models.length === 0 && !complete))
      return { model: requestedModel, rewrite: undefined };
    if (this.#resolvedFor !== requestedModel) this.#lookUp(requestedModel);
    return this.#target;
  }

  /** What puts the model's name into the body; nothing if it is there already. */
  replacements(fields: BodyFields, complete: boolean): readonly Replacement[] {
    const { model, rewrite } = this.resolve(fields, complete);
    const { firstField: at, models } = fields;
    const renamed = rewrite !== undefined && rewrite.requestedModel !== model;
    // Where a body has several names, most servers read the last one, but some the first: all are
    // made equal.
    if (!renamed && (models.length < 2 || model === '')) return [];
    const name = JSON.stringify(model);
    const field = 'model';
    if (models.length > 0) {
      return models.map((place) => ({ ...place, text: encoder.encode(name), field }));
    }
    return [{ start: at, end: at, text: encoder.encode(`"model":${name},`), field }];
  }

  #lookUp(requestedModel: string): void {
    const { head, rewriteOf } = this.#options;
    const found = rewriteOf(requestedModel, head.id);
    const model = found?.model ?? modelRewriteHeader(head.headers) ?? requestedModel;
    const decided = found !== undefined || model !== requestedModel;
    const rewrite = decided ? { requestedModel, rule: found?.rule } : undefined;
    this.#resolvedFor = requestedModel;
    this.#target = { model, rewrite };
  }
}

const encoder = new TextEncoder();
