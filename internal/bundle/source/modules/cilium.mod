module slipway.sh/bundle/cilium

go 1.26.0

require (
	github.com/cilium/cilium v1.20.2
	github.com/osrg/gobgp/v4 v4.7.0
)
