/** The parts of Envoy's configuration that are read here, as its admin port prints them in JSON. */

/** Such as `15s`; left out for Envoy's default. */
type ProtoDuration = string | undefined;

export interface ExtProc {
  readonly grpc_service?: {
    readonly envoy_grpc?: { readonly cluster_name?: string };
    readonly timeout?: ProtoDuration;
    readonly retry_policy?: { readonly host_selection_retry_max_attempts?: number | string };
  };
  readonly processing_mode?: ProcessingMode;
  readonly mutation_rules?: {
    readonly disallow_all?: boolean;
    readonly allow_expression?: Expression;
    readonly disallow_expression?: Expression;
  };
  readonly message_timeout?: ProtoDuration;
  readonly failure_mode_allow?: boolean;
  readonly observability_mode?: boolean;
  readonly send_body_without_waiting_for_header_response?: boolean;
  readonly metadata_options?: {
    readonly forwarding_namespaces?: { readonly untyped?: readonly string[] };
  };
}

/** A regular expression that has to match all of a name. */
export interface Expression {
  readonly regex?: string;
}

export interface ProcessingMode {
  readonly request_header_mode?: string;
  readonly request_body_mode?: string;
  readonly request_trailer_mode?: string;
  readonly response_header_mode?: string;
  readonly response_body_mode?: string;
  readonly response_trailer_mode?: string;
}

export interface TypedConfig {
  readonly '@type'?: string;
}

/** What a route says about the filter of the same name. */
export interface PerRoute extends TypedConfig {
  readonly disabled?: boolean;
  readonly overrides?: Partial<ExtProc>;
  /** The settings themselves, where this is the envelope that Envoy has for any filter. */
  readonly config?: { readonly disabled?: boolean; readonly overrides?: Partial<ExtProc> };
}

export interface HttpFilter {
  readonly name: string;
  readonly disabled?: boolean;
  readonly typed_config?: TypedConfig & ExtProc & { readonly max_request_bytes?: number };
}

export interface AccessLog {
  readonly filter?: { readonly response_flag_filter?: { readonly flags?: readonly string[] } };
  readonly typed_config?: TypedConfig & {
    readonly common_config?: {
      readonly grpc_service?: { readonly envoy_grpc?: { readonly cluster_name?: string } };
      readonly buffer_size_bytes?: number;
    };
  };
}

export interface ConnectionManager extends TypedConfig {
  readonly access_log?: readonly AccessLog[];
  readonly stat_prefix?: string;
  readonly route_config?: RouteConfig;
  readonly rds?: { readonly route_config_name?: string };
  readonly http_filters?: readonly HttpFilter[];
  readonly stream_idle_timeout?: ProtoDuration;
  readonly request_timeout?: ProtoDuration;
  readonly common_http_protocol_options?: { readonly max_stream_duration?: ProtoDuration };
  readonly early_header_mutation_extensions?: readonly unknown[];
}

export interface EnvoyListener {
  readonly name?: string;
  readonly per_connection_buffer_limit_bytes?: number;
  readonly filter_chains?: readonly FilterChain[];
  readonly default_filter_chain?: FilterChain;
}

interface FilterChain {
  readonly filters?: readonly { readonly typed_config?: TypedConfig }[];
}

export interface RouteConfig {
  readonly name?: string;
  readonly virtual_hosts?: readonly VirtualHost[];
  readonly typed_per_filter_config?: Readonly<Record<string, PerRoute>>;
}

interface VirtualHost {
  readonly name?: string;
  readonly routes?: readonly EnvoyRoute[];
  readonly retry_policy?: RetryPolicy;
  readonly typed_per_filter_config?: Readonly<Record<string, PerRoute>>;
}

export interface EnvoyRoute {
  readonly name?: string;
  readonly match?: unknown;
  readonly route?: RouteAction;
  readonly typed_per_filter_config?: Readonly<Record<string, PerRoute>>;
}

export interface RetryPolicy {
  readonly per_try_timeout?: ProtoDuration;
}

export interface RouteAction {
  readonly retry_policy?: RetryPolicy;
  readonly cluster?: string;
  readonly weighted_clusters?: { readonly clusters?: readonly WeightedCluster[] };
  readonly timeout?: ProtoDuration;
  readonly idle_timeout?: ProtoDuration;
  readonly max_stream_duration?: { readonly max_stream_duration?: ProtoDuration };
}

interface WeightedCluster {
  readonly name?: string;
  readonly typed_per_filter_config?: Readonly<Record<string, PerRoute>>;
}

export interface Cluster {
  readonly name: string;
  readonly type?: string;
  readonly cleanup_interval?: ProtoDuration;
  readonly original_dst_lb_config?: {
    readonly use_http_header?: boolean;
    readonly http_header_name?: string;
  };
  readonly load_balancing_policy?: unknown;
  readonly circuit_breakers?: {
    readonly thresholds?: readonly {
      readonly priority?: string;
      readonly max_connections?: number;
      readonly max_pending_requests?: number;
      readonly max_requests?: number;
      readonly max_retries?: number;
      readonly retry_budget?: unknown;
    }[];
  };
  readonly common_lb_config?: { readonly healthy_panic_threshold?: { readonly value?: number } };
  readonly health_checks?: readonly unknown[];
  readonly outlier_detection?: {
    readonly split_external_local_origin_errors?: boolean;
    readonly enforcing_consecutive_local_origin_failure?: number;
  };
  readonly http2_protocol_options?: Http2Options;
  readonly transport_socket?: unknown;
  readonly load_assignment?: { readonly endpoints?: readonly LocalityEndpoints[] };
  readonly typed_extension_protocol_options?: Readonly<Record<string, HttpOptions>>;
}

interface LocalityEndpoints {
  readonly lb_endpoints?: readonly {
    readonly endpoint?: {
      readonly address?: {
        readonly socket_address?: { readonly address?: string; readonly port_value?: number };
      };
    };
  }[];
}

export interface Http2Options {
  readonly connection_keepalive?: {
    readonly interval?: ProtoDuration;
    readonly timeout?: ProtoDuration;
  };
  readonly initial_stream_window_size?: number;
  readonly initial_connection_window_size?: number;
}

interface HttpVersions {
  readonly http_protocol_options?: unknown;
  readonly http2_protocol_options?: Http2Options;
}

export interface HttpOptions extends TypedConfig {
  readonly common_http_protocol_options?: {
    readonly idle_timeout?: ProtoDuration;
    readonly max_stream_duration?: ProtoDuration;
  };
  readonly explicit_http_config?: HttpVersions;
  readonly auto_config?: HttpVersions;
}

/** Seconds of a duration as Envoy prints it, otherwise those of its default. */
export function secondsOf(duration: ProtoDuration, otherwise: number): number {
  return duration === undefined ? otherwise : Number.parseFloat(duration);
}
