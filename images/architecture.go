package images

// Architecture is Nova's name of a processor, as in an image's property architecture, which Go
// and Kubernetes call goarch; "" for those that Slipway has no programs for.
func Architecture(goarch string) string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
}
