package driver

import "strings"

// Version is a version of Kubernetes out of an image's property kube_version:
// digits and dots, as magnum-capi-helm reads it.
func Version(property string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return -1
	}, property)
}
