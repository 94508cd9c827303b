// Package metric replaces the exporter by which Google's client for storage would report how it
// is used when it speaks gRPC. The drivers of states speak HTTP. The original brings the types of
// Google's monitoring, which every command registers when it starts.
package metric

import (
	"errors"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Option is an option that has no effect.
type Option struct{}

// WithProjectID would say whose metrics they are.
func WithProjectID(string) Option { return Option{} }

// WithMetricDescriptorTypeFormatter would name the metrics.
func WithMetricDescriptorTypeFormatter(func(metricdata.Metrics) string) Option { return Option{} }

// WithCreateServiceTimeSeries would choose the call.
func WithCreateServiceTimeSeries() Option { return Option{} }

// WithMonitoredResourceDescription would say what is measured.
func WithMonitoredResourceDescription(string, []string) Option { return Option{} }

// New says that there is none: the client continues without it.
func New(...Option) (metric.Exporter, error) { return nil, errors.ErrUnsupported }
