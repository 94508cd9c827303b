package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// A cluster can be in another project than the environment's. Its credential's Secret says in
// which, from before anything is made there until nothing is left; the release says it too,
// for when the Secret is lost.

const (
	annotationProject     = "slipway.sh/project-id"
	annotationProjectName = "slipway.sh/project-name"
	// annotationLent are the IDs of images that the environment's project lends to the
	// cluster's, with commas.
	annotationLent = "slipway.sh/lent-images"

	flagProject   = "--project"
	longestInName = 64 // of Keystone's projects
)

// Project is the project of a cluster that is not in the environment's.
type Project struct {
	ID string `json:"id"`
	// Name is what it was called when the cluster was made; it may be empty.
	Name string `json:"name,omitempty"`
}

func (p Project) String() string {
	if p.Name == "" || p.ID == "" {
		return p.Name + p.ID
	}
	return p.Name + " (" + p.ID + ")"
}

// home is the project of a cluster; the zero value is the environment's. Without an ID
// Slipway has yet to make it.
type home struct {
	Project
	// lent are the IDs of images that are lent to it.
	lent []string
}

func (h home) elsewhere() bool { return h.Project != Project{} }

// same reports whether two homes are one. One that was not made has only a name.
func (h home) same(other home) bool {
	if h.ID == "" || other.ID == "" {
		return h.Name == other.Name && (h.ID == other.ID || h.Name != "")
	}
	return h.ID == other.ID
}

// homeIn reads the home of a cluster from the annotations of its Secret.
func homeIn(annotations map[string]string) home {
	h := home{Project: Project{annotations[annotationProject], annotations[annotationProjectName]}}
	if text := annotations[annotationLent]; text != "" {
		h.lent = strings.Split(text, ",")
	}
	return h
}

func (h home) annotations() map[string]string {
	all := map[string]string{}
	for key, value := range map[string]string{annotationProject: h.ID, annotationProjectName: h.Name, annotationLent: strings.Join(h.lent, ",")} {
		if value != "" {
			all[key] = value
		}
	}
	return all
}

// labels are those of the release.
func (h home) labels(key Key) map[string]string {
	all := map[string]string{LabelCluster: key.Name}
	if h.ID != "" && len(validation.IsValidLabelValue(h.ID)) == 0 {
		all[annotationProject] = h.ID
	}
	return all
}

// remembered returns the home of a cluster. known is false if the cluster is new.
func (m *Management) remembered(ctx context.Context, key Key, there known) (h home, known bool, err error) {
	secret, err := m.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(ctx, SecretName(key.Name), metav1.GetOptions{})
	switch {
	case err == nil && secret.Labels[LabelCluster] == key.Name:
		return homeIn(secret.Annotations), true, nil
	case err != nil && !apierrors.IsNotFound(err):
		return h, false, fmt.Errorf("reading the credential's Secret: %w", err)
	}
	if there.release != nil {
		h.ID = there.release.Labels[annotationProject]
	}
	return h, there.exists || there.release != nil, nil
}

// choose returns the home that a cluster has or gets.
func (m *Management) choose(ctx context.Context, c Cloud, w Wanted, key Key, there known, own bool) (home, error) {
	asked := w.Project != "" || w.CreateProject
	if !own {
		if asked {
			return home{}, fault.Usage(flagProject, errors.New("the values bring a credential, and the cluster is in its project"), "leave out "+flagProject+", or "+valueSecretName+" and "+valueClouds)
		}
		return home{}, nil
	}
	had, known, err := m.remembered(ctx, key, there)
	if err != nil || !asked {
		return had, err
	}
	chosen, err := m.wantedHome(ctx, c, w, key, known)
	if err != nil {
		return had, err
	}
	if !known {
		return chosen, nil
	}
	if !had.same(chosen) {
		return had, fault.Usage(object(key), fmt.Errorf("it is in project %s, and a cluster does not move", m.describe(c, had)),
			"leave out "+flagProject+" and --create-project, or create another cluster")
	}
	return had, nil
}

func (m *Management) describe(c Cloud, h home) string {
	if h.elsewhere() {
		return h.String()
	}
	return c.Login.ProjectID + ", that of environment " + m.Environment
}

// wantedHome finds the project that the flags mean.
func (m *Management) wantedHome(ctx context.Context, c Cloud, w Wanted, key Key, known bool) (home, error) {
	if err := c.checkScope(); err != nil {
		return home{}, err
	}
	if !w.CreateProject {
		p, err := openstack.FindProject(ctx, c.Operator, w.Project)
		if err != nil || p.ID == c.Login.ProjectID {
			return home{}, err
		}
		return home{Project: Project(p)}, nil
	}
	name := cmp.Or(w.Project, m.Environment+"-"+key.Name)
	if len(name) > longestInName {
		return home{}, fault.Usage("project "+name, fmt.Errorf("its name is longer than %d characters", longestInName), "give it another one with "+flagProject+" NAME")
	}
	wanted := home{Project: Project{Name: name}}
	if known {
		return wanted, nil
	}
	made, err := c.clusterProject(m.Environment, key, name)
	if err != nil {
		return home{}, err
	}
	_, err = made.Find(ctx) // one that a killed run made gets its roles first
	return wanted, err
}

// checkScope refuses logins that are for the environment's project alone.
func (c Cloud) checkScope() error {
	if c.Operator == nil {
		return fault.Usage(flagProject, errors.New("there is no login for another project"), "leave it out")
	}
	return c.Operator.CheckScope()
}

// clusterProject is the project that Slipway makes for a cluster. The user gets the roles that
// it has in the environment's project.
func (c Cloud) clusterProject(environment string, key Key, name string) (openstack.ClusterProject, error) {
	grant, err := c.Operator.Grant()
	if err != nil {
		return openstack.ClusterProject{}, err
	}
	p := openstack.ClusterProject{Administrator: c.Administrator, Ownership: openstack.Ownership{Environment: environment, Step: Step(key)},
		Name: name, DomainID: grant.DomainID, UserID: c.UserID}
	for _, role := range grant.Roles {
		p.Roles = append(p.Roles, role.ID)
	}
	return p, nil
}

// at logs in to the home of a cluster, if it is there.
func (c Cloud) at(ctx context.Context, h home) (Cloud, error) {
	c.home = h
	if !h.elsewhere() {
		return c, nil
	}
	if err := c.checkScope(); err != nil {
		return c, fmt.Errorf("the cluster is in project %s: %w", h, err)
	}
	if h.ID == "" {
		return c, nil
	}
	inside, err := c.Operator.In(ctx, h.ID)
	if err != nil {
		return c, fault.New("project "+h.String(), fmt.Errorf("the login cannot be used in it: %w", err), "see that it exists and is enabled, and that your user has a role in it")
	}
	c.inside, c.Clients, c.Login.ProjectID = inside, inside, h.ID
	return c, nil
}

// checkRoles refuses a project in which the user lacks roles that clusters need.
func (c Cloud) checkRoles() error {
	if c.inside == nil {
		return nil
	}
	grant, err := c.inside.Grant()
	if err != nil {
		return err
	}
	missing := grant.Missing(c.Roles)
	if len(missing) == 0 {
		return nil
	}
	var remedies []string
	for _, role := range missing {
		remedies = append(remedies, "openstack role add --project "+c.home.ID+" --user "+c.UserID+" "+role)
	}
	return fault.Usage("project "+c.home.String(), errors.New("your user lacks roles in it that the cluster's credential needs: "+strings.Join(missing, ", ")),
		"have an administrator run "+strings.Join(remedies, " and "))
}

// enter logs in to the home of a cluster.
func (m *Management) enter(ctx context.Context, c Cloud, key Key, there known) (Cloud, error) {
	h, _, err := m.remembered(ctx, key, there)
	if err != nil {
		return c, err
	}
	return c.at(ctx, h)
}

// enterLast logs in to the home of a cluster that is to be deleted. Of one that is left of a
// run that was killed, the project may not be there, or not any more.
func (m *Management) enterLast(ctx context.Context, c Cloud, key Key) (Cloud, error) {
	there, err := m.look(ctx, key)
	if err != nil {
		return c, err
	}
	h, _, err := m.remembered(ctx, key, there)
	if err != nil || !h.elsewhere() {
		return c, err
	}
	if h.ID == "" {
		if h, err = m.begun(ctx, c, key, h); err != nil {
			return c, err
		}
	}
	entered, err := c.at(ctx, h)
	if err != nil && !there.exists && h.ID != "" && c.Operator != nil && openstack.Gone(ctx, c.Administrator, h.ID) {
		return entered, nil
	}
	return entered, err
}

// begun looks whether a run that was killed made the project.
func (m *Management) begun(ctx context.Context, c Cloud, key Key, h home) (home, error) {
	if err := c.checkScope(); err != nil {
		return h, err
	}
	made, err := c.clusterProject(m.Environment, key, h.Name)
	if err != nil {
		return h, err
	}
	found, err := made.Find(ctx)
	var taken *fault.Fault
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusForbidden), err == nil && found == nil, errors.As(err, &taken) && taken.Exit == fault.ExitUsage:
		return home{}, nil // who may not make projects has made none
	case err != nil:
		return h, err
	}
	p, err := made.Ensure(ctx)
	h.Project = Project(p)
	return h, err
}

// siblings are the homes of the other clusters in a project.
func (m *Management) siblings(ctx context.Context, key Key, h home) (map[Key]home, error) {
	marked, err := m.marked(ctx, corev1.NamespaceAll, "")
	if err != nil {
		return nil, err
	}
	all := map[Key]home{}
	for _, secret := range marked {
		other := Key{Namespace: secret.Namespace, Name: secret.Labels[LabelCluster]}
		if of := homeIn(secret.Annotations); other != key && of.ID == h.ID && h.ID != "" {
			all[other] = of
		}
	}
	return all, nil
}

// homesOf are the projects of clusters that are not in the environment's, by their Secrets.
func homesOf(marked []metav1.PartialObjectMetadata) map[Key]*Project {
	all := map[Key]*Project{}
	for _, secret := range marked {
		if h := homeIn(secret.Annotations); h.elsewhere() {
			all[Key{Namespace: secret.Namespace, Name: secret.Labels[LabelCluster]}] = &h.Project
		}
	}
	return all
}

// lentTo reports whether one of the clusters has an image on loan.
func lentTo(homes map[Key]home, image string) bool {
	for _, h := range homes {
		if slices.Contains(h.lent, image) {
			return true
		}
	}
	return false
}
