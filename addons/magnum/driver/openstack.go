package driver

import (
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// openstack is what runs on the cluster and talks to OpenStack.
func (b *builder) openstack() {
	const balancer = "addons.openstack.cloudConfig.LoadBalancer."
	provider := b.provider()
	method := "ROUND_ROBIN"
	if provider == "ovn" {
		method = "SOURCE_IP_PORT" // the only one OVN has
	}
	b.set(balancer+"lb-provider", provider)
	b.set(balancer+"lb-method", b.labels.text(method, "octavia_lb_algorithm"))
	b.set(balancer+"create-monitor", b.labels.boolean(true, "octavia_lb_healthcheck"))
	if b.labels.has("cinder_csi_enabled") {
		b.set("addons.openstack.csiCinder.enabled", b.labels.boolean(true, "cinder_csi_enabled"))
	}
	if b.labels.has("csi_snapshots_enabled") {
		b.set("addons.openstack.csiCinder.snapshots.enabled", b.labels.boolean(false, "csi_snapshots_enabled"))
	}
	if b.labels.has("manila_csi_enabled") {
		b.set("addons.openstack.csiManila.enabled", b.labels.boolean(false, "manila_csi_enabled"))
	}
	b.storageClasses()
	b.keystone()
	b.restarted()
}

// restarted makes pods anew that would go on with a credential of before.
func (b *builder) restarted() {
	if b.Credential == "" {
		return
	}
	for _, pods := range []string{"ccm.values", "csiCinder.values.csi.plugin.controllerPlugin", "csiCinder.values.csi.plugin.nodePlugin"} {
		b.set("addons.openstack."+pods+".podAnnotations", map[string]any{v1alpha1.Group + "/credential": b.Credential})
	}
}

// chartsClass is the name of the chart's default storage class.
const chartsClass = "csi-cinder"

// storageClasses are one for each type of volume, the default type's first. Types
// without a name that Kubernetes takes, or with one that another has, have none: a
// cloud's administrators name types as they like, and no cluster could be made.
func (b *builder) storageClasses() {
	class := func(kind string) map[string]any {
		values := map[string]any{
			"reclaimPolicy":        b.labels.text("Retain", "csi_cinder_reclaim_policy"),
			"allowVolumeExpansion": b.labels.boolean(true, "csi_cinder_allow_volume_expansion"),
			"volumeBindingMode":    b.labels.text("WaitForFirstConsumer", "csi_cinder_volume_binding_mode"),
			"availabilityZone":     b.labels.text("nova", "csi_cinder_availability_zone"),
			"fstype":               b.labels.text("ext4", "csi_cinder_fstype"),
			"enabled":              true,
		}
		if len(b.Defaults.AllowedTopologies) > 0 {
			values["allowedTopologies"] = b.Defaults.AllowedTopologies
		}
		if kind != "" {
			values["volumeType"] = kind
		}
		if name := v1alpha1.Sanitise(kind); name != "" { // else it is the chart's
			values["name"] = name
		}
		return values
	}
	types := b.resolved().VolumeTypes
	if len(types) == 0 {
		b.set("addons.openstack.csiCinder.defaultStorageClass", class(""))
		return
	}
	if len(types) >= v1alpha1.MaxVolumeTypes {
		b.warn("storage classes", "a cluster gets one for at most %d volume types, the default one and the first by name; create those of other types in the cluster", v1alpha1.MaxVolumeTypes)
	}
	b.set("addons.openstack.csiCinder.defaultStorageClass", class(types[0]))
	more, taken := []any{}, map[string]bool{first(v1alpha1.Sanitise(types[0]), chartsClass): true}
	for _, kind := range types[1:] {
		name := v1alpha1.Sanitise(kind)
		if name == "" || taken[name] {
			b.warn("storage classes", "the volume type %s has none, because its name in Kubernetes would be %q: that is empty, or another one's; create one in the cluster", kind, name)
			continue
		}
		taken[name] = true
		more = append(more, class(kind))
	}
	if len(more) > 0 {
		b.set("addons.openstack.csiCinder.additionalStorageClasses", more)
	}
}

// keystone lets users log in to the cluster by Keystone.
func (b *builder) keystone() {
	const auth = "addons.openstack.k8sKeystoneAuth."
	if !b.labels.boolean(false, "keystone_auth_enabled") {
		return
	}
	b.set("authWebhook", "k8s-keystone-auth")
	b.set(auth+"enabled", true)
	b.set(auth+"values.openstackAuthUrl", b.AuthURL)
	b.set(auth+"values.projectId", b.Cluster.Spec.ProjectID)
}

func (b *builder) addons() {
	b.set("addons.cni.type", b.cni())
	b.set("addons.monitoring.enabled", b.labels.boolean(false, "monitoring_enabled"))
	// The Kubernetes dashboard is gone from charts since 0.23; Headlamp came
	// for it, and is installed for those who ask.
	dashboard := b.labels.has("kube_dashboard_enabled")
	b.set("addons.kubernetesDashboard.enabled", b.labels.boolean(true, "kube_dashboard_enabled"))
	if dashboard {
		b.set("addons.headlamp.enabled", b.labels.boolean(true, "kube_dashboard_enabled"))
	}
	b.set("addons.ingress.enabled", false)
	if b.labels.has("kubelet_serving_certificates") {
		b.set("kubeletServingCertificates.enabled", b.labels.boolean(false, "kubelet_serving_certificates"))
	}
}
