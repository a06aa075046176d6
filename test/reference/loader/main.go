// Command loader reads configurations, one JSON string a line, and says of each whether the loader
// of the Gateway API Inference Extension takes it: `{"ok":true}`, or `{"ok":false,"error":"..."}`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/config/loader"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/flowcontrol"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/plugin"
	metricsextractor "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/extractor/metrics"
	metricssource "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/source/metrics"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/source/notifications"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/fairness"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/ordering"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/saturationdetector/concurrency"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/saturationdetector/utilization"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/usagelimits"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requestcontrol/admitter/latencyslo"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requestcontrol/dataproducer/approximateprefix"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requestcontrol/requestattributereporter"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requestcontrol/requestdataproducer/inflightload"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requestcontrol/requestdataproducer/predictedlatency"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requesthandling/parsers/openai"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requesthandling/parsers/passthrough"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requesthandling/parsers/vllmgrpc"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/filter/prefixcacheaffinity"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/filter/sloheadroomtier"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/picker"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/profile"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/kvcacheutilization"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/latency"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/loraaffinity"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/prefix"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/queuedepth"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/runningrequests"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/tokenload"
)

// Each plugin type that the picker of this release has, but those for its own tests.
var factories = map[string]plugin.FactoryFunc{
	approximateprefix.ApproxPrefixCachePluginType:         approximateprefix.ApproxPrefixCacheFactory,
	concurrency.ConcurrencyDetectorType:                   concurrency.ConcurrencyDetectorFactory,
	fairness.GlobalStrictFairnessPolicyType:               fairness.GlobalStrictFairnessPolicyFactory,
	fairness.RoundRobinFairnessPolicyType:                 fairness.RoundRobinFairnessPolicyFactory,
	inflightload.InFlightLoadProducerType:                 inflightload.InFlightLoadProducerFactory,
	kvcacheutilization.KvCacheUtilizationScorerType:       kvcacheutilization.KvCacheUtilizationScorerFactory,
	latency.LatencyScorerType:                             latency.Factory,
	latencyslo.LatencyAdmissionPluginType:                 latencyslo.LatencyAdmissionFactory,
	loraaffinity.LoraAffinityScorerType:                   loraaffinity.LoraAffinityScorerFactory,
	metricsextractor.MetricsExtractorType:                 metricsextractor.CoreMetricsExtractorFactory,
	metricssource.MetricsDataSourceType:                   metricssource.MetricsDataSourceFactory,
	notifications.EndpointNotificationSourceType:          notifications.EndpointSourceFactory,
	notifications.NotificationSourceType:                  notifications.NotificationSourceFactory,
	openai.OpenAIParserType:                               openai.OpenAIParserPluginFactory,
	ordering.EDFOrderingPolicyType:                        ordering.EDFOrderingPolicyFactory,
	ordering.FCFSOrderingPolicyType:                       ordering.FCFSOrderingPolicyFactory,
	ordering.SLODeadlineOrderingPolicyType:                ordering.SLODeadlineOrderingPolicyFactory,
	passthrough.PassthroughParserType:                     passthrough.PassthroughParserPluginFactory,
	picker.MaxScorePickerType:                             picker.MaxScorePickerFactory,
	picker.RandomPickerType:                               picker.RandomPickerFactory,
	picker.WeightedRandomPickerType:                       picker.WeightedRandomPickerFactory,
	predictedlatency.LatencyDataProviderPluginType:        predictedlatency.PredictedLatencyFactory,
	prefix.PrefixCacheScorerPluginType:                    prefix.PrefixCachePluginFactory,
	prefixcacheaffinity.PluginType:                        prefixcacheaffinity.Factory,
	profile.SingleProfileHandlerType:                      profile.SingleProfileHandlerFactory,
	queuedepth.QueueScorerType:                            queuedepth.QueueScorerFactory,
	requestattributereporter.RequestAttributeReporterType: requestattributereporter.RequestAttributeReporterPluginFactory,
	runningrequests.RunningRequestsSizeScorerType:         runningrequests.RunningRequestsSizeScorerFactory,
	sloheadroomtier.PluginType:                            sloheadroomtier.Factory,
	tokenload.TokenLoadScorerType:                         tokenload.TokenLoadScorerFactory,
	usagelimits.StaticUsageLimitPolicyType:                usagelimits.StaticPolicyFactory,
	utilization.UtilizationDetectorType:                   utilization.UtilizationDetectorFactory,
	vllmgrpc.VllmGRPCParserType:                           vllmgrpc.VllmGRPCParserPluginFactory,
}

type answer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func load(text string) (result answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			result = answer{Error: fmt.Sprint("panic: ", panicked)}
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	raw, _, err := loader.LoadRawConfig([]byte(text), logr.Discard())
	if err != nil {
		return answer{Error: err.Error()}
	}
	handle := plugin.NewEppHandle(ctx, func() []types.NamespacedName { return nil })
	if _, err := loader.InstantiateAndConfigure(raw, handle, logr.Discard()); err != nil {
		return answer{Error: err.Error()}
	}
	return answer{OK: true}
}

func main() {
	for _, gate := range []string{datalayer.ExperimentalDatalayerFeatureGate, datalayer.EnableLegacyMetricsFeatureGate, flowcontrol.FeatureGate} {
		loader.RegisterFeatureGate(gate)
	}
	for name, factory := range factories {
		plugin.Register(name, factory)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			panic(err)
		}
		if err := answers.Encode(load(text)); err != nil {
			panic(err)
		}
	}
}
