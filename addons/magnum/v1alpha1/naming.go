package v1alpha1

import (
	"maps"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names shared by the endpoint and the controllers.
const (
	// NamespacePrefix goes before the project's id, as magnum-capi-helm does.
	NamespacePrefix = "magnum-"
	// FinalizerCluster keeps a Cluster until nothing of it is left in
	// OpenStack. The endpoint sets it on creation.
	FinalizerCluster = Group + "/cluster"
	// FinalizerNodeGroup keeps a NodeGroup until its machines are gone. The
	// endpoint sets it on creation.
	FinalizerNodeGroup = Group + "/nodegroup"
	// AnnotationUpdatedAt is when the endpoint last wrote the object, RFC 3339.
	AnnotationUpdatedAt = Group + "/updated-at"
	// AnnotationCreatedAt is when the endpoint created the object, RFC 3339 with
	// a fraction, which Kubernetes does not keep: lists are in this order.
	AnnotationCreatedAt = Group + "/created-at"
	// AnnotationFirstCreatedAt is when the object was created first, RFC 3339, if Kubernetes
	// does not know it: it came from a backup or from elsewhere, see [Created].
	AnnotationFirstCreatedAt = Group + "/first-created-at"
	// AnnotationAuthoritiesChanged is on the Secret of a cluster: when the controllers replaced
	// the cloud's CA certificates in it, RFC 3339.
	AnnotationAuthoritiesChanged = Group + "/cacert-changed-at"
	// AnnotationHeld is on objects that somebody else manages: Slipway shows
	// them and touches nothing. See [Held].
	AnnotationHeld = Group + "/held"
	// AnnotationRecovering is on Cluster API's objects that recovery or an undo holds until
	// all is proved (recovery.AnnotationHeld).
	AnnotationRecovering = "recovery.slipway.sh/held"
	// AnnotationRenewed is on objects of Cluster API's provider: when the cluster had a
	// credential again after it had lost its own, RFC 3339.
	AnnotationRenewed = Group + "/credential-renewed-at"
	// AnnotationFormerID is Magnum's id of an object that was moved in.
	AnnotationFormerID = Group + "/former-id"
	// LabelProject, LabelUser and LabelCluster are put on namespaces and
	// Secrets as magnum-capi-helm does; values are cut to 63 characters.
	LabelProject = "magnum.openstack.org/project-id"
	LabelUser    = "magnum.openstack.org/user-id"
	LabelCluster = "magnum.openstack.org/cluster-uuid"
	// LabelMovedIn is on ConfigMaps with what Magnum had of something that was moved in.
	LabelMovedIn = Group + "/moved-in"
	// AnnotationAdopting is on such a ConfigMap until what it is of is adopted: what is deleted
	// before that was never Slipway's.
	AnnotationAdopting = Group + "/adopting"
	// LabelStack is the Cluster API's label of Secrets of a cluster.
	LabelStack = "cluster.x-k8s.io/cluster-name"

	// RoleMaster is the role of control planes.
	RoleMaster = "master"
	// RoleWorker is the role of groups that name none.
	RoleWorker = "worker"
	// DefaultMaster and DefaultWorker are the names of the default groups.
	DefaultMaster = "default-master"
	DefaultWorker = "default-worker"
	// ResourceCluster is the one resource quotas count.
	ResourceCluster = "Cluster"
)

// Created is when an object was created, also one that was restored since: Kubernetes
// gives those the time of the restore.
func Created(o metav1.Object) metav1.Time {
	if at, err := time.Parse(time.RFC3339, o.GetAnnotations()[AnnotationFirstCreatedAt]); err == nil {
		return metav1.NewTime(at)
	}
	return o.GetCreationTimestamp()
}

// Namespace is the namespace of a project: magnum- and its id, of which only
// lower-case letters and digits are kept.
func Namespace(projectID string) string {
	return NamespacePrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(projectID))
}

// Sanitise makes a Kubernetes name of any name: lower case, every run of other
// characters than a-z0-9 a dash, without dashes at the ends.
func Sanitise(name string) string {
	other := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLower(r) && !unicode.IsDigit(r) }
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), other), "-")
}

// LabelValue makes of a value what a Kubernetes label holds: at most 63 characters of which others
// than letters, digits, dots, dashes and underlines are dashes, and none at the ends. Ids of users
// may have any, with LDAP.
func LabelValue(value string) string {
	value = strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, value)
	value = strings.TrimLeft(value, "-_.")
	return strings.TrimRight(value[:min(63, len(value))], "-_.")
}

// QuotaName is the object's name of the quota of a resource.
func QuotaName(resource string) string { return strings.ToLower(resource) }

func (i Identity) uuid(meta *metav1.ObjectMeta) string {
	if i.UUID != "" {
		return i.UUID
	}
	return string(meta.UID)
}

func (i Identity) title(meta *metav1.ObjectMeta) string {
	if i.Name != "" {
		return i.Name
	}
	return meta.Name
}

// UUID is the template's identifier in the REST API.
func (t *ClusterTemplate) UUID() string { return t.Spec.uuid(&t.ObjectMeta) }

// Title is the template's name in the REST API.
func (t *ClusterTemplate) Title() string { return t.Spec.title(&t.ObjectMeta) }

// UUID is the cluster's identifier in the REST API.
func (c *Cluster) UUID() string { return c.Spec.uuid(&c.ObjectMeta) }

// Title is the cluster's name in the REST API.
func (c *Cluster) Title() string { return c.Spec.title(&c.ObjectMeta) }

// UUID is the group's identifier in the REST API.
func (g *NodeGroup) UUID() string { return g.Spec.uuid(&g.ObjectMeta) }

// Title is the group's name in the REST API and the chart.
func (g *NodeGroup) Title() string { return g.Spec.title(&g.ObjectMeta) }

// Stack is the name of the Helm release and of the Cluster API objects.
func (c *Cluster) Stack() string {
	if c.Spec.StackID != "" {
		return c.Spec.StackID
	}
	return c.Name
}

// CredentialSecret is the name of the Secret with the cluster's clouds.yaml.
func (c *Cluster) CredentialSecret() string {
	if c.Spec.Credential.SecretName != "" {
		return c.Spec.Credential.SecretName
	}
	return c.Stack() + "-cloud-credentials"
}

// TemplateNamespace is where the cluster's template is.
func (c *Cluster) TemplateNamespace() string {
	if c.Spec.TemplateRef.Namespace != "" {
		return c.Spec.TemplateRef.Namespace
	}
	return c.Namespace
}

// EffectiveLabels are the labels in force: the template's where the cluster says
// nothing of its own, both with MergeLabels, else the cluster's.
func (c *Cluster) EffectiveLabels() map[string]string {
	var under map[string]string
	if c.Spec.Template != nil && (!c.Spec.NoLabels || len(c.Spec.Labels) > 0) {
		under = c.Spec.Template.Labels
	}
	return overlay(under, c.Spec.Labels, c.Spec.MergeLabels)
}

// EffectiveLabels are the labels in force in the group of a cluster.
func (g *NodeGroup) EffectiveLabels(cluster *Cluster) map[string]string {
	return overlay(cluster.EffectiveLabels(), g.Spec.Labels, g.Spec.MergeLabels)
}

func overlay(under, over map[string]string, merge bool) map[string]string {
	if len(over) == 0 {
		return maps.Clone(under)
	}
	if !merge {
		return maps.Clone(over)
	}
	all := map[string]string{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

// NodeGroupName is the object's name of a group: <stack id>-<sanitised name>,
// the name of its MachineDeployment, so two groups that would share one cannot
// both exist.
func NodeGroupName(cluster *Cluster, group string) string {
	return cluster.Stack() + "-" + Sanitise(group)
}

// ReservedGroup reports whether the objects of a group of this name would be those of the control
// plane: it would take the control plane's health check.
func ReservedGroup(group string) bool { return Sanitise(group) == "control-plane" }
