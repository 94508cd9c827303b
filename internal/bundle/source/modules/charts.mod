module slipway.sh/bundle/charts

go 1.26.0

require (
	github.com/cilium/cilium v1.20.2
	github.com/traefik/traefik-helm-chart v41.6.0+incompatible
)
