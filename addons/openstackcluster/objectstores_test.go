package openstackcluster

import (
	"slices"
	"strings"
	"testing"
)

// TestObjectStores adds one addon for each, whose manifest is what Slipway keeps of that one.
func TestObjectStores(t *testing.T) {
	t.Parallel()
	before, all := addonNames(render(t)), render(t, `addons: {objectStores: {backups: {namespace: velero, secretName: s3}, registry: {}, none: null}}`)
	added := slices.DeleteFunc(addonNames(all), func(name string) bool { return slices.Contains(before, name) })
	if !slices.Equal(added, []string{"Manifests object-store-backups", "Manifests object-store-registry"}) {
		t.Errorf("added are %q", added)
	}
	for name, namespace := range map[string]string{"backups": "velero", "registry": "registry"} {
		spec := at(all.get(t, "Manifests object-store-"+name), "spec")
		want(t, spec, namespace, "targetNamespace")
		want(t, spec, "[{secret: {name: c1-object-stores, keys: ["+name+".yaml]}}]", "manifestSources")
	}
	refuse(t, `addons: {objectStores: {Big: {}}}`, "Big")
	refuse(t, `addons: {objectStores: {a-name-of-more-than-20-characters: {}}}`, "a-name-of-more-than-20-characters")
	refuse(t, `addons: {objectStores: {one: {buket: x}}}`, "buket")
}

// TestHarbor has its images in the object store, and passwords that Slipway keeps.
func TestHarbor(t *testing.T) {
	t.Parallel()
	const harbor = `
addons:
  harbor: {enabled: true, domainName: registry.example.org, release: {values: {trivy: {enabled: false}}}}
  objectStores: {registry: {bucket: prod-c1-registry, endpoint: "https://s3.example.org", region: us-east-1, privateCA: true}}
`
	all := render(t, harbor, `addons: {ingress: {enabled: true}}`)
	release := at(all.get(t, "HelmRelease harbor"), "spec")
	want(t, release, "harbor", "targetNamespace")
	want(t, release, "[{secret: {name: c1-object-stores, key: harbor-values}}, {secret: {name: c1-harbor-config, key: defaults}}, {secret: {name: c1-harbor-config, key: overrides}}]", "valuesSources")
	want(t, at(all.get(t, "Manifests object-store-registry"), "spec"), "harbor", "targetNamespace")
	defaults := values(t, secret(t, all, "harbor-config", "defaults"))
	want(t, defaults, "https://registry.example.org", "externalURL")
	want(t, defaults, "{className: traefik, hosts: {core: registry.example.org}}", "expose", "ingress")
	want(t, defaults, `{type: s3, disableredirect: true, caBundleSecretName: object-store-registry, s3: {existingSecret: object-store-registry,
  bucket: prod-c1-registry, region: us-east-1, regionendpoint: "https://s3.example.org", secure: true, v4auth: true}}`, "persistence", "imageChartStorage")

	own := render(t, strings.NewReplacer("https://s3", "http://s3", ", privateCA: true", ", secretName: mine").Replace(harbor))
	defaults = values(t, secret(t, own, "harbor-config", "defaults"))
	want(t, defaults, "{hosts: {core: registry.example.org}}", "expose", "ingress")
	want(t, defaults, `{type: s3, disableredirect: true, s3: {existingSecret: mine,
  bucket: prod-c1-registry, region: us-east-1, regionendpoint: "http://s3.example.org", secure: false, v4auth: true}}`, "persistence", "imageChartStorage")
}
