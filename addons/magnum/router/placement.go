package router

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// memberOf is the management cluster of a project. One that has none gets one, for good.
func (s *Server) memberOf(c *call, project string) (*Member, error) {
	key := client.ObjectKey{Name: v1alpha1.Namespace(project)}
	p := &v1alpha1.Placement{}
	err := s.o.Placements.Get(c.ctx(), key, p)
	if apierrors.IsNotFound(err) {
		p, err = s.placed(c, project)
	}
	if err != nil {
		return nil, err
	}
	if m := s.member(p.Spec.ManagementCluster); m != nil {
		return m, nil
	}
	return nil, openstackapi.Away("the project is on the management cluster "+p.Spec.ManagementCluster+", which is not one of this API's", nil)
}

// placed reads the placement of a project that memory does not have, or makes it.
func (s *Server) placed(c *call, project string) (*v1alpha1.Placement, error) {
	p := &v1alpha1.Placement{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace(project)}}
	err := s.o.Client.Get(c.ctx(), client.ObjectKeyFromObject(p), p)
	if err == nil {
		return p, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading the project's placement: %w", err)
	}
	m, err := c.home(project)
	if err != nil {
		return nil, err
	}
	p.Spec = v1alpha1.PlacementSpec{ProjectID: project}
	if err := c.place(p, m); err != nil {
		return nil, err
	}
	s.o.Log.InfoContext(c.ctx(), "project placed", "project_id", project, "management_cluster", p.Spec.ManagementCluster, "request_id", c.requestID)
	return p, nil
}

// place creates a placement on m, or where the fewest projects are if m is nil. One at a time:
// projects that come together would all find the same member to have the fewest.
func (c *call) place(p *v1alpha1.Placement, m *Member) (err error) {
	if err := c.s.placing.Acquire(c.ctx(), 1); err != nil {
		return fmt.Errorf("placing the project: %w", err)
	}
	defer c.s.placing.Release(1)
	if m == nil {
		if m, err = c.fewest(); err != nil {
			return err
		}
	}
	p.Spec.ManagementCluster = m.Name
	err = c.s.o.Client.Create(c.ctx(), p)
	if apierrors.IsAlreadyExists(err) { // another router was first
		err = c.s.o.Client.Get(c.ctx(), client.ObjectKeyFromObject(p), p)
	}
	if err != nil {
		return fmt.Errorf("placing the project: %w", err)
	}
	return nil
}

// home is where a project without a placement has something already, such as from the time before
// the router; nil if it has nothing. Clusters decide before templates, which can be made again:
// `slipway up` makes some on each management cluster.
func (c *call) home(project string) (*Member, error) {
	all := c.s.everyone(nil)
	clusters, templates := make([]bool, len(all)), make([]bool, len(all))
	group, ctx := errgroup.WithContext(c.ctx())
	for i, m := range all {
		group.Go(func() (err error) {
			clusters[i], err = c.hasClusters(ctx, m, project)
			return err
		})
		group.Go(func() (err error) {
			templates[i], err = c.hasTemplates(ctx, m, project)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var names []string
	for i, m := range all {
		if clusters[i] {
			names = append(names, m.Name)
		}
	}
	switch first := slices.Index(templates, true); {
	case len(names) == 1:
		return c.s.member(names[0]), nil
	case len(names) > 1:
		return nil, &openstackapi.Error{Status: http.StatusConflict, Detail: "The project has clusters on several management clusters: " + strings.Join(names, ", ") +
			". The operator has to decide on which it is."}
	case first >= 0:
		return all[first], nil
	}
	return nil, nil
}

// hasClusters reports whether a project has clusters on a member.
func (c *call) hasClusters(ctx context.Context, m *Member, project string) (bool, error) {
	counted, err := c.ask(ctx, m, "stats", url.Values{"project_id": {project}, "type": {"cluster"}})
	if err == nil && counted.status != http.StatusOK {
		err = counted.refusal()
	}
	if err != nil {
		return false, err
	}
	var stats struct {
		Clusters int `json:"clusters"`
	}
	err = counted.decode(&stats)
	return stats.Clusters > 0, err
}

// hasTemplates reports whether a project has templates of its own on a member.
func (c *call) hasTemplates(ctx context.Context, m *Member, project string) (bool, error) {
	templates, _, err := c.all(ctx, m, listing{path: "clustertemplates/detail", name: "clustertemplates", key: "uuid"}, url.Values{})
	return slices.ContainsFunc(templates, func(t item) bool { return t.text("project_id") == project }), err
}

// fewest is the member with the fewest projects that may have more; the first of several. It
// counts in the API server: memory lacks what was placed a moment ago.
func (c *call) fewest() (*Member, error) {
	placements := &v1alpha1.PlacementList{}
	if err := c.s.o.Client.List(c.ctx(), placements); err != nil {
		return nil, fmt.Errorf("counting projects: %w", err)
	}
	projects := map[string]int{}
	for i := range placements.Items {
		projects[placements.Items[i].Spec.ManagementCluster]++
	}
	open := slices.DeleteFunc(c.s.everyone(nil), func(m *Member) bool { return m.Closed })
	if len(open) == 0 {
		return nil, openstackapi.Away("no management cluster takes new projects at the moment", nil)
	}
	return slices.MinFunc(open, func(a, b *Member) int { return cmp.Compare(projects[a.Name], projects[b.Name]) }), nil
}
