module slipway.sh/bundle/kind

go 1.26

require sigs.k8s.io/kind v0.33.0
