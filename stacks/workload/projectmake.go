package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/stacks/openstack"
)

// settle chooses the home of a cluster and logs in there. It refuses what could not work, and
// makes nothing.
func (m *Management) settle(ctx context.Context, c Cloud, w Wanted, key Key, there known, values map[string]any, own bool) (Cloud, error) {
	h, err := m.choose(ctx, c, w, key, there, own)
	if err != nil {
		return c, err
	}
	if c, err = c.at(ctx, h); err != nil || !h.elsewhere() {
		return c, err
	}
	if err := c.checkRoles(); err != nil {
		return c, err
	}
	if err := c.checkReferences(ctx, values); err != nil {
		return c, err
	}
	_, err = c.loans(ctx, values)
	return c, err
}

// prepare makes the project of a cluster if Slipway is to, and lends it the images of the
// cluster's machines. What it makes is noted before.
func (m *Management) prepare(ctx context.Context, c Cloud, key Key, values map[string]any) (Cloud, bool, error) {
	changed, err := m.note(ctx, c, key)
	if err != nil {
		return c, changed, err
	}
	if c.home.ID == "" {
		changed = true
		if c, err = m.makeProject(ctx, c, key); err != nil {
			return c, changed, err
		}
	}
	loans, err := c.loans(ctx, values)
	if err != nil {
		return c, changed, err
	}
	siblings, err := m.siblings(ctx, key, c.home)
	if err != nil {
		return c, changed, err
	}
	for _, loan := range loans {
		if (loan.Offer || lentTo(siblings, loan.ID)) && !slices.Contains(c.home.lent, loan.ID) {
			c.home.lent = append(c.home.lent, loan.ID)
		}
	}
	if _, err := m.note(ctx, c, key); err != nil {
		return c, changed, err
	}
	for _, loan := range loans {
		if loan.Offer || loan.Accept {
			changed = true
		}
		if err := c.lending().Lend(ctx, loan); err != nil {
			return c, changed, err
		}
	}
	return c, changed, nil
}

func (m *Management) makeProject(ctx context.Context, c Cloud, key Key) (Cloud, error) {
	made, err := c.clusterProject(m.Environment, key, c.home.Name)
	if err != nil {
		return c, err
	}
	p, err := made.Ensure(ctx)
	if err != nil {
		return c, err
	}
	c.home.Project = Project(p)
	if _, err := m.note(ctx, c, key); err != nil {
		return c, err
	}
	if c, err = c.at(ctx, c.home); err != nil {
		return c, err
	}
	return c, c.checkRoles()
}

// note writes the home of a cluster into its Secret, and makes that without a credential if
// there is none.
func (m *Management) note(ctx context.Context, c Cloud, key Key) (bool, error) {
	secret, err := m.credentialSecret(ctx, key)
	if err != nil {
		return false, err
	}
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	if secret == nil {
		if _, err := secrets.Create(ctx, c.secret(key, nil), metav1.CreateOptions{}); err != nil {
			return false, fmt.Errorf("noting the project in the credential's Secret: %w", err)
		}
		return true, nil
	}
	wanted := c.home.annotations()
	if maps.Equal(wanted, homeIn(secret.Annotations).annotations()) {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": wanted}})
	if err == nil {
		_, err = secrets.Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return false, fmt.Errorf("noting the project in the credential's Secret: %w", err)
	}
	return true, nil
}

// lending lends images of the environment's project to the cluster's.
func (c Cloud) lending() openstack.Lending {
	l := openstack.Lending{Owner: c.Operator, ProjectID: c.home.ID}
	if c.inside != nil {
		l.Member = c.inside
	}
	return l
}

// loans are the images of the machines of a cluster.
func (c Cloud) loans(ctx context.Context, values map[string]any) ([]openstack.Loan, error) {
	var all []openstack.Loan
	for _, part := range machines(values) {
		path, id := part.path+"machineImageId", text(part.values, "machineImageId")
		if name := text(part.values, "machineImage"); id == "" && name != "" && !strings.Contains(name, "{{") {
			var err error
			path = part.path + "machineImage"
			if id, err = c.lending().Named(ctx, path, name); err != nil {
				return nil, err
			}
		}
		if id == "" || slices.ContainsFunc(all, func(l openstack.Loan) bool { return l.ID == id }) {
			continue
		}
		loan, err := c.lending().Look(ctx, path, id)
		if err != nil {
			return nil, err
		}
		all = append(all, loan)
	}
	return all, nil
}

// leave ends the loans of a cluster that is gone, and deletes its project if Slipway made it
// and nothing is left there. The notes say what stays.
func (m *Management) leave(ctx context.Context, c Cloud, key Key, progress func(string)) (notes []string, err error) {
	if c.home.ID == "" {
		return nil, nil
	}
	siblings, err := m.siblings(ctx, key, c.home)
	if err != nil {
		return nil, err
	}
	if err := c.endLoans(ctx, siblings, progress); err != nil || c.inside == nil { // without a login the project is gone
		return nil, err
	}
	made, err := openstack.Made(ctx, c.inside, m.Environment, c.home.ID)
	if err != nil || !made {
		return nil, err
	}
	stays := "project " + c.home.String() + " stays: "
	for other := range siblings {
		return []string{stays + object(other) + " is in it"}, nil
	}
	left, err := c.remains(ctx, progress)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return []string{stays + "it contains " + listed(left)}, nil
	}
	progress("deleting project " + c.home.String())
	err = openstack.RemoveProject(ctx, c.Administrator, c.home.ID)
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return []string{stays + "Keystone does not let the login delete it; have an administrator run openstack project delete " + c.home.ID}, nil
	}
	return nil, err
}

// endLoans ends the loans that no other cluster in the project needs.
func (c Cloud) endLoans(ctx context.Context, siblings map[Key]home, progress func(string)) error {
	lent := c.home.lent
	if len(siblings) == 0 { // also those that a Secret knew which is lost
		more, err := c.lending().Lent(ctx)
		if err != nil {
			return err
		}
		lent = append(slices.Clone(lent), more...)
	}
	slices.Sort(lent)
	for _, id := range slices.Compact(lent) {
		if lentTo(siblings, id) {
			continue
		}
		progress("ending the sharing of image " + id)
		if err := c.lending().Return(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// remains are what a project still contains. It waits a while for what is being deleted.
func (c Cloud) remains(ctx context.Context, progress func(string)) ([]openstack.Resource, error) {
	for end := time.Now().Add(collectTime); ; {
		left, err := openstack.Inventory{Clients: c.inside, UserID: c.UserID}.Remains(ctx, c.home.ID)
		staying := slices.ContainsFunc(left, func(r openstack.Resource) bool { return !strings.Contains(strings.ToLower(r.State), "delet") })
		if err != nil || len(left) == 0 || staying || time.Now().After(end) {
			return left, err
		}
		progress("waiting until " + listed(left) + " is gone")
		if err := pause(ctx, time.Second); err != nil {
			return left, err
		}
	}
}

// listed names the first of some resources.
func listed(left []openstack.Resource) string {
	const most = 3
	var words []string
	for _, r := range left[:min(len(left), most)] {
		words = append(words, strings.TrimSpace(r.Type+" "+r.Name)+" ("+r.ID+")")
	}
	if len(left) > most {
		words = append(words, fmt.Sprintf("%d more", len(left)-most))
	}
	return strings.Join(words, ", ")
}
