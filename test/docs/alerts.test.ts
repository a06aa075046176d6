import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { expectNoFault } from '../house/faults.ts';
import { fetchPromtool } from '../support/programs/promtool.ts';

/** The alert rules: what they ask for exists, they fire on the fault and are silent without it. */

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook_url: string;
  };
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const file = 'deploy/alerts-rules.yaml';
const plain = parse(read(file)) as Rules;
const rules = plain.groups.flatMap((group) => group.rules);
const promtool = await fetchPromtool();

const OPERATOR_HEAD = `\
# Alerts for the Prometheus operator: kubectl apply -f. Made from alerts-rules.yaml, which is for Prometheus itself.
# Runbooks are in docs/runbooks.md of this project: put the address of your copy before the paths.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: { name: pointsman }
spec:
`;

const AT = 'job="pointsman", instance="a:9090"';
const series = (name: string, labels: string, values: string): string =>
  `${name}{${AT}${labels === '' ? '' : `, ${labels}`}} ${values}`;
const errors = (code: string, values: string): string =>
  series('llm_d_epp_request_error_total', `error_code="${code}"`, values);
/** A picker in good order, a line each minute for an hour. */
const HEALTHY: readonly string[] = [
  series('up', '', '1x60'),
  series('llm_d_epp_info', '', '1x60'),
  series('process_start_time_seconds', '', '1x60'),
  series('llm_d_epp_ready_endpoints', 'name="pool"', '4x60'),
  series('pointsman_endpoint_ejected', 'endpoint_name="e0", namespace="n"', '0x60'),
  series('pointsman_endpoint_ejected', 'endpoint_name="e1", namespace="n"', '0x60'),
  series('pointsman_endpoint_ejected', 'endpoint_name="e2", namespace="n"', '0x60'),
  series('pointsman_endpoint_ejected', 'endpoint_name="e3", namespace="n"', '0x60'),
  series('pointsman_endpoints_failing', 'reason="unreachable"', '0x60'),
  series('pointsman_endpoints_lost', '', '0x60'),
  series('llm_d_epp_request_total', 'model_name="m"', '0+600x60'),
  errors('ResourceExhausted', '0+1x60'),
  errors('ModelServerError', '0+1x60'),
  series('pointsman_aborted_requests_total', '', '0+300x60'),
  series('pointsman_first_token_observed_seconds_total', '', '0+66x60'),
  series('pointsman_first_token_predicted_seconds_total', '', '0+60x60'),
  series('pointsman_first_token_predictions_total', '', '0+600x60'),
  series('pointsman_waiting_requests', '', '5x60'),
  series('pointsman_capture_writing', '', '1x60'),
  series('pointsman_open_streams', '', '100x60'),
  series('pointsman_open_streams_max', '', '1000x60'),
  series('pointsman_held_bytes', '', '100x60'),
  series('pointsman_held_bytes_max', '', '1000x60'),
  series('pointsman_config_last_reload_successful', '', '1x60'),
  series('pointsman_endpoints_file_last_reload_successful', '', '1x60'),
  series('pointsman_outgoing_tls_last_reload_successful', '', '1x60'),
  series('pointsman_certificate_expiry_timestamp_seconds', '', '2592000x60'),
  series('pointsman_plugin_faults_total', 'plugin_name="p"', '0x60'),
  series('pointsman_event_loop_late', '', '0x60'),
  series('pointsman_scheduler_connected', '', '1x60'),
  series('pointsman_kv_event_messages_dropped_total', 'reason="truncated"', '0x60'),
  series('pointsman_kv_events_unusable_endpoints', 'reason="no-hash"', '0x60'),
  series('pointsman_replica_connected', '', '1x60'),
  series('pointsman_trace_spans_total', 'outcome="exported"', '0+600x60'),
  series('pointsman_trace_spans_total', 'outcome="failed"', '0x60'),
];

/** What differs in each fault, in place of the healthy series of the same name and labels. */
const FAULTS: Readonly<Record<string, readonly string[]>> = {
  PointsmanDown: [series('up', '', '1x10 0x50')],
  PointsmanRestarts: [series('process_start_time_seconds', '', '1x30 100x5 200x5 300x5 400x15')],
  PointsmanNoFreshEndpoint: [series('llm_d_epp_ready_endpoints', 'name="pool"', '4x10 0x50')],
  PointsmanEndpointEjected: [
    series('pointsman_endpoint_ejected', 'endpoint_name="e0", namespace="n"', '0x10 1x50'),
  ],
  PointsmanHalfThePoolEjected: [
    series('pointsman_endpoint_ejected', 'endpoint_name="e0", namespace="n"', '1x60'),
    series('pointsman_endpoint_ejected', 'endpoint_name="e1", namespace="n"', '1x60'),
    series('pointsman_endpoints_lost', '', '2x60'),
  ],
  PointsmanEndpointMetricsOld: [
    series('pointsman_endpoints_failing', 'reason="unreachable"', '1x60'),
  ],
  PointsmanRequestsRefused: [errors('ResourceExhausted', '0+100x60')],
  PointsmanModelServerErrors: [errors('ModelServerError', '0+60x60')],
  PointsmanTtftAbovePrediction: [
    series('pointsman_first_token_observed_seconds_total', '', '0+600x60'),
  ],
  PointsmanRequestsWait: [series('pointsman_waiting_requests', '', '5+3x60')],
  PointsmanCaptureFails: [series('pointsman_capture_writing', '', '0x60')],
  PointsmanStreamsNearLimit: [series('pointsman_open_streams', '', '950x60')],
  PointsmanMemoryNearLimit: [series('pointsman_held_bytes', '', '950x60')],
  PointsmanConfigRejected: [series('pointsman_config_last_reload_successful', '', '0x60')],
  PointsmanEndpointsFileRejected: [
    series('pointsman_endpoints_file_last_reload_successful', '', '0x60'),
  ],
  PointsmanOutgoingTlsRejected: [
    series('pointsman_outgoing_tls_last_reload_successful', '', '0x60'),
  ],
  PointsmanCertificateEnds: [
    series('pointsman_certificate_expiry_timestamp_seconds', '', '400000x60'),
  ],
  PointsmanPluginFaults: [series('pointsman_plugin_faults_total', 'plugin_name="p"', '0+5x60')],
  PointsmanEventLoopLate: [series('pointsman_event_loop_late', '', '1x60')],
  PointsmanSchedulerLost: [series('pointsman_scheduler_connected', '', '0x60')],
  PointsmanKvEventsDropped: [
    series('pointsman_kv_event_messages_dropped_total', 'reason="truncated"', '0+1x60'),
  ],
  PointsmanReplicasLost: [series('pointsman_replica_connected', '', '1x10 0x50')],
  PointsmanTracesNotSent: [series('pointsman_trace_spans_total', 'outcome="failed"', '0+60x60')],
};

/** At little load servers that are gone get no requests, so that none is ejected. */
const HALF_NOT_SCRAPED = [
  series('pointsman_endpoints_failing', 'reason="unreachable"', '2x60'),
  series('pointsman_endpoints_lost', '', '2x60'),
];
/** One server is ejected, and another one fails its scrapes. */
const HALF_LOST = [
  series('pointsman_endpoint_ejected', 'endpoint_name="e0", namespace="n"', '1x60'),
  series('pointsman_endpoints_failing', 'reason="unreachable"', '1x60'),
  series('pointsman_endpoints_lost', '', '2x60'),
];
/** One server of four has crashed: it is ejected and fails its scrapes. */
const ONE_CRASHED = [
  series('pointsman_endpoint_ejected', 'endpoint_name="e0", namespace="n"', '1x60'),
  series('pointsman_endpoints_failing', 'reason="unreachable"', '1x60'),
  series('pointsman_endpoints_lost', '', '1x60'),
];

/** Alerts that such a fault raises, too. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  PointsmanHalfThePoolEjected: ['PointsmanEndpointEjected'],
};

/** Four minutes of four times the requests, which are over at the 50th, and a picker that stands them. */
const BURST = [
  series('llm_d_epp_request_total', 'model_name="m"', '0+600x46 30000 32400 34800+600x12'),
  errors('ResourceExhausted', '0+1x46 107 167 227+1x12'),
  series('pointsman_waiting_requests', '', '0x46 100 300 50 0x12'),
  series('pointsman_open_streams', '', '100x46 950 100x13'),
  series('pointsman_held_bytes', '', '100x46 950 100x13'),
  series('pointsman_event_loop_late', '', '0x46 1 0x13'),
  series('pointsman_first_token_observed_seconds_total', '', '0+66x46 3336 3636 3936+66x12'),
];

const nameAndLabels = (line: string): string => line.slice(0, line.indexOf('}') + 1);

function inputs(fault: readonly string[]): readonly object[] {
  const replaced = new Set(fault.map(nameAndLabels));
  const lines = [...HEALTHY.filter((line) => !replaced.has(nameAndLabels(line))), ...fault];
  return lines.map((line) => ({
    series: nameAndLabels(line),
    values: line.slice(nameAndLabels(line).length + 1),
  }));
}

/** The names of the alerts that fire after 50 minutes, as promtool says. */
async function firing(fault: readonly string[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-alerts-'));
  const alertname = 'alertname, alertstate';
  const query = {
    expr: `count by (${alertname}) (ALERTS{alertstate="firing"})`,
    eval_time: '50m',
    // Wrong on purpose: promtool prints what it got.
    exp_samples: [{ labels: '{none="none"}', value: 1 }],
  };
  const tests = [{ interval: '1m', input_series: inputs(fault), promql_expr_test: [query] }];
  const document = { rule_files: [join(root, file)], evaluation_interval: '1m', tests };
  const path = join(folder, 'test.yaml');
  writeFileSync(path, JSON.stringify(document));
  try {
    const failed = await promisify(execFile)(promtool ?? '', ['test', 'rules', path]).then(
      () => '',
      (error: { readonly stdout: string; readonly stderr: string }) => error.stdout + error.stderr,
    );
    expect(failed).toContain('got:');
    const got = failed.slice(failed.indexOf('got:'));
    return [...new Set([...got.matchAll(/alertname="(\w+)"/g)].map(([, name = '']) => name))];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the alerts', () => {
  test('[O95] are the same for the Prometheus operator and as a rule file; -u writes those of the operator', async () => {
    const groups = read(file).slice(read(file).indexOf('groups:')).trimEnd();
    const spec = groups.replaceAll(/^(?=.)/gm, '  ');
    await expect(`${OPERATOR_HEAD}${spec}\n`).toMatchFileSnapshot(join(root, 'deploy/alerts.yaml'));
    expect(parse(read('deploy/alerts.yaml'))).toMatchObject({
      kind: 'PrometheusRule',
      spec: plain,
    });
  });

  test.each(rules)('[O95] $alert says what is wrong, and has a runbook', (rule) => {
    const { summary, description, runbook_url: url } = rule.annotations;
    expect(summary).not.toBe('');
    expect(description).toMatch(/\.$/);
    expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
    const [path = '', anchor] = url.split('#');
    const anchors = [...read(path).matchAll(/^## (.+)$/gm)].map(([, heading = '']) =>
      heading.toLowerCase().replaceAll(' ', '-'),
    );
    expect(anchors, `write a section of ${path} whose heading becomes this anchor`).toContain(
      anchor,
    );
    const kebab = rule.alert.replace(/(?<!^)(?=[A-Z])/g, '-').toLowerCase();
    expect(anchor, 'the anchor of runbook_url is the name of the alert').toBe(kebab);
  });

  test.each(rules)(
    '[O95] $alert asks only for metrics that docs/metrics.md names',
    ({ alert, expr }) => {
      const missing: string[] = [];
      const documented = read('docs/metrics.md');
      const names = expr.match(/\b(?:llm_d_epp|pointsman)_[a-z_]+/g) ?? [];
      for (const name of names) {
        const family = name.replace(/^llm_d_epp_/, '').replace(/_(?:sum|count)$/, '');
        if (!documented.includes(`\`${family}\``)) missing.push(family);
      }
      expectNoFault(missing, `add rows for these metrics of ${alert} to docs/metrics.md`);
    },
  );

  test('[O96] have a fault each, on which they are tested', () => {
    const alerts = rules.map(({ alert }) => alert);
    expect(Object.keys(FAULTS), 'FAULTS of this file has one for each rule, in order').toEqual(
      alerts,
    );
  });

  test.skipIf(promtool === undefined)('[O96] are silent while nothing is wrong', async () => {
    expect(await firing([])).toEqual([]);
  });

  test.skipIf(promtool === undefined)('[O396] are silent in a burst that passes', async () => {
    expect(await firing(BURST)).toEqual([]);
  });

  test.skipIf(promtool === undefined)(
    '[O214] PointsmanHalfThePoolEjected fires where half cannot be scraped, and none is ejected',
    async () => {
      const alerts = ['PointsmanEndpointMetricsOld', 'PointsmanHalfThePoolEjected'];
      expect(await firing(HALF_NOT_SCRAPED)).toEqual(alerts);
    },
  );

  test.skipIf(promtool === undefined)(
    '[O355] PointsmanHalfThePoolEjected adds up servers that are ejected and those that cannot be scraped',
    async () => {
      const single = ['PointsmanEndpointEjected', 'PointsmanEndpointMetricsOld'];
      const alerts = [...single, 'PointsmanHalfThePoolEjected'];
      expect(await firing(HALF_LOST)).toEqual(alerts);
      expect(await firing(ONE_CRASHED)).toEqual(single);
    },
  );

  test.skipIf(promtool === undefined).each(Object.entries(FAULTS))(
    '[O96] %s fires on its fault, and no other does',
    async (alert, fault) => {
      expect(await firing(fault)).toEqual([alert, ...(ALSO[alert] ?? [])].toSorted());
    },
  );
});
