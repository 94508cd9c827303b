module github.com/GoogleCloudPlatform/opentelemetry-operations-go/exporter/metric

go 1.22

require go.opentelemetry.io/otel/sdk/metric v1.35.0
