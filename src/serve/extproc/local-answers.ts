import type { SessionOptions } from '../../extproc/session/session.ts';
import { RoutingError } from '../../framework/error.ts';
import type { RequestControl } from '../../framework/request-control.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';

type Responder = Required<Pick<RequestControl, 'respond'>>;

/** Lets plugins answer requests without a body. A plugin that fails answers nothing. */
export function localAnswers(picker: EndpointPicker): Required<SessionOptions>['respond'] {
  let known: readonly object[] | undefined;
  let responders: readonly Responder[] = [];
  return (request) => {
    const plugins: readonly object[] = picker.observers();
    if (plugins !== known) {
      known = plugins;
      responders = plugins.filter(responds);
    }
    for (const responder of responders) {
      try {
        const answer = responder.respond(request, picker.pool.snapshot());
        if (answer !== undefined) return answer;
      } catch (error) {
        if (error instanceof RoutingError) throw error;
        picker.faults.report(responder, 'respond', error);
      }
    }
    return undefined;
  };
}

function responds(plugin: object): plugin is Responder {
  return 'respond' in plugin && typeof plugin.respond === 'function';
}
