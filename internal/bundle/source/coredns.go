package source

// corednsPatch leaves out what reads zones from public clouds and what sends traces to
// Datadog: each brings an SDK, and no cluster's DNS here uses one. The directives go too, so
// that a Corefile that names one is refused with its name. Traces still go to Zipkin.
func corednsPatch() patch {
	const (
		module = "github.com/coredns/coredns"
		trace  = "plugin/trace/trace.go"
	)
	p := patch{Module: module, Replace: []replacement{
		{trace, datadogImports, ""},
		{trace, datadogTracer, ""},
		{trace, datadogIdentity, ""},
		// Kubernetes' libraries v0.34 have the field no more; false is what they do.
		{"plugin/kubernetes/object/informer.go", "\t\tRetryOnError:     false,\n", ""},
	}}
	for _, cloud := range []string{"azure", "clouddns", "route53"} {
		p.Replace = append(p.Replace,
			replacement{"core/plugin/zplugin.go", "\t_ \"" + module + "/plugin/" + cloud + "\"\n", ""},
			replacement{"core/dnsserver/zdirectives.go", "\t\"" + cloud + "\",\n", ""})
	}
	return p
}

// What trace.go has for Datadog.
const (
	datadogImports = `	"gopkg.in/DataDog/dd-trace-go.v1/ddtrace"
	"gopkg.in/DataDog/dd-trace-go.v1/ddtrace/ext"
	"gopkg.in/DataDog/dd-trace-go.v1/ddtrace/opentracer"
	"gopkg.in/DataDog/dd-trace-go.v1/ddtrace/tracer"
`
	datadogTracer = `		case "datadog":
			tracer := opentracer.New(
				tracer.WithAgentAddr(t.Endpoint),
				tracer.WithDebugMode(clog.D.Value()),
				tracer.WithGlobalTag(ext.SpanTypeDNS, true),
				tracer.WithServiceName(t.serviceName),
				tracer.WithAnalyticsRate(t.datadogAnalyticsRate),
				tracer.WithLogger(&loggerAdapter{log}),
			)
			t.tracer = tracer
			t.tagSet = tagByProvider["datadog"]
`
	datadogIdentity = `	case ddtrace.SpanContext:
		metadata.SetValueFunc(ctx, metaTraceIdKey, func() string { return fmt.Sprint(spanCtx.TraceID()) })
`
)
