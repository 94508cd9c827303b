package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/members"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// project makes one in which the operator has the roles.
func (s *site) project(name string, names ...string) string {
	s.Helper()
	admin := s.box.Admin.Identity(s)
	made, err := projects.Create(s.Context(), admin, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	if err != nil {
		s.Fatal(err)
	}
	for _, role := range names {
		s.grant(made.ID, s.cloud.UserID, role)
	}
	return made.ID
}

func (s *site) grant(project, user, role string) {
	s.Helper()
	admin := s.box.Admin.Identity(s)
	pages, err := roles.List(admin, roles.ListOpts{Name: role}).AllPages(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	list, err := roles.ExtractRoles(pages)
	if err != nil || len(list) != 1 {
		s.Fatalf("role %s: %v, %v", role, list, err)
	}
	if err := roles.Assign(s.Context(), admin, list[0].ID, roles.AssignOpts{UserID: user, ProjectID: project}).ExtractErr(); err != nil {
		s.Fatal(err)
	}
}

// image makes one of a project.
func (s *site) image(owner *gophercloud.ServiceClient, name string, visibility images.ImageVisibility) string {
	s.Helper()
	made, err := images.Create(s.Context(), owner, images.CreateOpts{Name: name, Visibility: &visibility, ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
	if err != nil {
		s.Fatal(err)
	}
	return made.ID
}

// order is a cluster with the image and a network that every project has.
func (s *site) order(name, image, more string) Wanted {
	s.Helper()
	w := wanted(s.T, name, small+"\n"+more)
	w.Defaults["machineImageId"] = image
	pages, err := networks.List(s.box.Member.Network(s), networks.ListOpts{Name: "public"}).AllPages(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	list, err := networks.ExtractNetworks(pages)
	if err != nil || len(list) != 1 {
		s.Fatalf("%v, %v", list, err)
	}
	w.Defaults["clusterNetworking"].(map[string]any)["externalNetworkId"] = list[0].ID
	return w
}

// seen is what there is for clusters in the cloud: projects by name, credentials of clusters
// by project, and the members of images.
func (s *site) seen(image string) string {
	s.Helper()
	var words []string
	pages, err := projects.List(s.box.Admin.Identity(s), nil).AllPages(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil {
		s.Fatal(err)
	}
	name := map[string]string{}
	for _, p := range all {
		name[p.ID] = p.Name
		if mark, ok := ownership.FromTags(p.Tags); ok && mark.Environment == "prod" {
			words = append(words, "project "+p.Name)
		}
	}
	pages, err = applicationcredentials.List(s.box.Member.Identity(s), s.cloud.UserID, nil).AllPages(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	credentials, err := applicationcredentials.ExtractApplicationCredentials(pages)
	if err != nil {
		s.Fatal(err)
	}
	for _, c := range credentials {
		words = append(words, "credential in "+name[c.ProjectID])
	}
	one, err := images.Get(s.Context(), s.box.Member.Image(s), image).Extract()
	if err != nil {
		s.Fatal(err)
	}
	words = append(words, "image "+string(one.Visibility))
	if one.Visibility == images.ImageVisibilityShared {
		pages, err = members.List(s.box.Member.Image(s), image).AllPages(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		list, err := members.ExtractMembers(pages)
		if err != nil {
			s.Fatal(err)
		}
		for _, m := range list {
			words = append(words, m.Status+" by "+name[m.MemberID])
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func (s *site) want(when, image, want string) {
	s.Helper()
	if got := s.seen(image); got != want {
		s.Errorf("%s there is\n%s\nwant\n%s", when, got, want)
	}
}

const untouched = "image private"

// TestAClusterInAProjectOfItsOwn is in one that exists, and in one that is made: its
// credential is of that project and of no other, and the node image can be used there. When
// the cluster is gone only what was there before is left.
//
// proves: S-88
func TestAClusterInAProjectOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	retail := s.project("retail", "member")
	image := s.image(s.box.Member.Image(t), "node", images.ImageVisibilityPrivate)
	for name, c := range map[string]struct {
		project string
		create  bool
		in      string
		made    bool
	}{
		"named":          {"retail", false, "retail", false},
		"by-id":          {retail, false, "retail", false},
		"made":           {"", true, "prod-made", true},
		"made-and-named": {"wholesale", true, "wholesale", true},
	} {
		w := s.order(name, image, "")
		w.Project, w.CreateProject = c.project, c.create
		s.make(t.Context(), w)
		want := "accepted by " + c.in + ", credential in " + c.in + ", image shared"
		if c.made {
			want += ", project " + c.in
		}
		s.want(name+": made:", image, want)
		s.usable(name, c.in, image)
		w.Project, w.CreateProject = "", false
		s.make(t.Context(), w)
		s.want(name+": made again:", image, want)
		if notes := s.remove(name); len(notes) > 0 {
			t.Errorf("%s: %v", name, notes)
		}
		s.want(name+": deleted:", image, untouched)
	}
	if _, err := projects.Get(t.Context(), s.box.Admin.Identity(t), retail).Extract(); err != nil {
		t.Errorf("a project that Slipway did not make: %v", err)
	}
}

// usable logs in as the cluster does, and finds itself in the project with the image.
func (s *site) usable(name, project, image string) {
	s.Helper()
	opened, err := cloud.Open(s.Context(), cloud.Options{Cloud: "openstack", CloudsYAML: s.secret(name).Data[keyClouds]})
	if err != nil {
		s.Fatal(err)
	}
	defer opened.Close()
	if grant, err := opened.Grant(); err != nil || grant.ProjectName != project {
		s.Errorf("%s is in %+v, %v", name, grant, err)
	}
	glance, err := opened.Image()
	if err != nil {
		s.Fatal(err)
	}
	pages, err := images.List(glance, images.ListOpts{Name: "node"}).AllPages(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if list, err := images.ExtractImages(pages); err != nil || len(list) != 1 || list[0].ID != image {
		s.Errorf("%s: the project has images %v, %v", name, list, err)
	}
}

// TestProjectsThatCannotBe are refused before anything is made, each with its cause.
//
// proves: S-88
func TestProjectsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	off := false
	s.project("retail", "member")
	disabledID := s.project("disabled", "member")
	if err := projects.Update(t.Context(), s.box.Admin.Identity(t), disabledID, projects.UpdateOpts{Enabled: &off}).Err; err != nil {
		t.Fatal(err)
	}
	stranger := s.project("stranger")
	s.project("poor", "reader")
	s.project("prod-taken")
	s.project("twin", "member")
	domain, err := domains.Create(t.Context(), s.box.Admin.Identity(t), domains.CreateOpts{Name: "far"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	twin, err := projects.Create(t.Context(), s.box.Admin.Identity(t), projects.CreateOpts{Name: "twin", DomainID: domain.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	s.grant(twin.ID, s.cloud.UserID, "member")
	node := s.image(s.box.Member.Image(t), "node", images.ImageVisibilityPrivate)
	secretive := s.image(s.box.Admin.Image(t), "secretive", images.ImageVisibilityPrivate)
	network, err := networks.Create(t.Context(), s.box.Member.Network(t), networks.CreateOpts{Name: "mine"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	admin, bound := s.login("sandbox-admin"), s.bound()
	s.grant(s.project("headquarters"), admin.UserID, "admin")
	powerless := s.cloud
	powerless.Administrator = func(context.Context) (*gophercloud.ServiceClient, string, error) {
		client, err := s.cloud.Operator.Identity()
		return client, "default", err
	}
	for name, c := range map[string]struct {
		as      *Cloud
		project string
		create  bool
		image   string
		values  string
		words   []string
	}{
		"no such project":                 {project: "nowhere", words: []string{"project nowhere: it does not exist, or the user of the login has no role in it"}},
		"no such project, for an admin":   {as: &admin, project: "nowhere", words: []string{"project nowhere: it does not exist"}},
		"no role":                         {project: "stranger", words: []string{"project stranger: it does not exist, or the user of the login has no role in it"}},
		"no role, for an admin":           {as: &admin, project: stranger, words: []string{"project stranger (" + stranger + "): the user of the login has no role in it"}},
		"a name of two":                   {project: "twin", words: []string{"project twin: several projects have this name: ", twin.ID + " in domain " + domain.ID}},
		"too few roles":                   {project: "poor", words: []string{"project poor (", "your user lacks roles in it that the cluster's credential needs: member"}},
		"disabled":                        {project: "disabled", words: []string{"project disabled (" + disabledID + "): it is disabled"}},
		"disabled, for an admin":          {as: &admin, project: "disabled", words: []string{"it is disabled"}},
		"an application credential":       {as: &bound, project: "retail", words: []string{"it logs in with an application credential, which belongs to one project"}},
		"an application credential makes": {as: &bound, create: true, words: []string{"it logs in with an application credential, which belongs to one project"}},
		"no administrator":                {as: &powerless, create: true, words: []string{"--create-project: Keystone does not let the login make projects and give roles in them"}},
		"a name that is taken":            {project: "prod-taken", create: true, words: []string{"project prod-taken: it exists, but Slipway did not make it for this cluster"}},
		"a name that is too long":         {project: strings.Repeat("x", 65), create: true, words: []string{"its name is longer than 64 characters"}},
		"a credential of the user":        {project: "retail", values: "clouds: {openstack: {auth: {auth_url: 'https://c', username: u, password: p}}}", words: []string{"--project: the values bring a credential"}},
		"an image of somebody else":       {project: "retail", image: secretive, words: []string{"machineImageId: there is no image " + secretive}},
		"an image of another project":     {as: &admin, project: "headquarters", image: node, words: []string{"machineImageId: image " + node + " is private and belongs to project " + s.cloud.Login.ProjectID + ", so the environment's project cannot share it"}},
		"an image that is not there":      {create: true, values: "controlPlane: {machineImageId: gone}", words: []string{"controlPlane.machineImageId: there is no image gone"}},
		"an image by a wrong name":        {project: "retail", values: "nodeGroups: [{name: md-0, machineCount: 1, machineImage: nobodys}]", words: []string{"nodeGroups[0].machineImage: there is no image nobodys"}},
		"networks of another project": {project: "retail", values: "clusterNetworking: {internalNetwork: {networkFilter: {id: " + network.ID + "}}, router: {id: r-1}}\ncontrolPlane: {serverGroupId: g-1}",
			words: []string{"clusterNetworking.internalNetwork.networkFilter.id: project retail (", "does not have network " + network.ID, "clusterNetworking.router.id: ", "does not have router r-1", "controlPlane.serverGroupId: "}},
		"networks for a new project": {create: true, values: "clusterNetworking: {internalNetwork: {networkFilter: {id: " + network.ID + "}}}", words: []string{"clusterNetworking.internalNetwork.networkFilter.id: project prod-"}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &site{T: t, Management: s.Management, box: s.box, cloud: s.cloud, typed: s.typed}
			if c.as != nil {
				inner.cloud = *c.as
			}
			image := node
			if c.image != "" {
				image = c.image
			}
			title := "refused"
			if c.project == "prod-taken" {
				title = "taken"
			}
			w := inner.order(title, image, c.values)
			w.Project, w.CreateProject = c.project, c.create
			inner.refused(w, c.words...)
			s.want("after it was refused", node, "credential in demo, "+untouched) // that of the login "bound"
			if list, err := s.typed.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
				t.Errorf("namespaces %v, %v", list.Items, err)
			}
		})
	}
}

// bound is a login by an application credential.
func (s *site) bound() Cloud {
	s.Helper()
	made, err := applicationcredentials.Create(s.Context(), s.box.Member.Identity(s), s.cloud.UserID, applicationcredentials.CreateOpts{Name: "bound"}).Extract()
	if err != nil {
		s.Fatal(err)
	}
	text := fmt.Sprintf("clouds: {bound: {auth_type: v3applicationcredential, region_name: RegionOne, auth: {auth_url: %s, application_credential_id: %s, application_credential_secret: %s}}}", s.cloud.Login.AuthURL, made.ID, made.Secret)
	opened, err := cloud.Open(s.Context(), cloud.Options{Cloud: "bound", CloudsYAML: []byte(text)})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(opened.Close)
	c := s.cloud
	c.Clients, c.Operator = opened, opened
	return c
}

// TestAClusterDoesNotMove to another project, by whatever name; it is found by its release
// when its Secret is lost.
//
// proves: S-88
func TestAClusterDoesNotMove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.project("retail", "member")
	s.project("other", "member")
	image := s.image(s.box.Member.Image(t), "node", images.ImageVisibilityPrivate)
	own, home := s.order("own", image, ""), s.order("home", image, "")
	own.Project = "retail"
	s.make(t.Context(), own)
	s.make(t.Context(), home)
	for _, w := range []Wanted{own, home} {
		for _, asked := range []Wanted{{Project: "other"}, {CreateProject: true}, {Project: "elsewhere", CreateProject: true}} {
			w.Project, w.CreateProject = asked.Project, asked.CreateProject
			s.refused(w, "a cluster does not move")
		}
	}
	home.Project = "demo" // where it is
	s.make(t.Context(), home)
	key := s.installed(own)
	if _, change, err := s.Create(t.Context(), s.cloud, own, func(string) {}); err != nil || change != Unchanged {
		t.Errorf("again: %s, %v", change, err)
	}
	const there = "accepted by retail, credential in demo, credential in retail, image shared"
	s.want("made again:", image, there)
	if _, err := s.RotateCredential(t.Context(), s.cloud, key, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s.want("rotated:", image, there)
	s.usable("own", "retail", image)
	if err := s.typed.CoreV1().Secrets("own").Delete(t.Context(), SecretName("own"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	own.Project = "other"
	s.refused(own, "a cluster does not move")
	if _, err := s.RotateCredential(t.Context(), s.cloud, key, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s.usable("own", "retail", image)
	if homes := homesOf(s.metadata()); len(homes) != 1 || homes[key] == nil || homes[key].ID == "" {
		t.Errorf("lists show %v", homes)
	}
	if notes := s.remove("own"); len(notes) > 0 {
		t.Errorf("notes %v", notes)
	}
	s.want("deleted:", image, "credential in demo, "+untouched)
}

func (s *site) metadata() []metav1.PartialObjectMetadata {
	s.Helper()
	all, err := s.marked(s.Context(), metav1.NamespaceAll, "")
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// TestProjectsKilledAnywhere: a run that is killed before any of its writes is continued by
// the next, also one that is not told the project, or undone by a deletion; so is a deletion.
//
// proves: S-88
func TestProjectsKilledAnywhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	image := s.image(s.box.Member.Image(t), "node", images.ImageVisibilityPrivate)
	run := func(name, kind string, n int) bool {
		w := s.order(name, image, "")
		w.CreateProject = true
		made := "accepted by prod-" + name + ", credential in prod-" + name + ", image shared, project prod-" + name
		died := false
		switch kind {
		case "continued":
			died = s.killedBefore(n, func(ctx context.Context) { s.make(ctx, w) })
			w.CreateProject = len(s.metadata()) == 0 // later ones need not be told
			s.make(t.Context(), w)
			s.want(fmt.Sprintf("killed before write %d and continued:", n), image, made)
		case "undone":
			died = s.killedBefore(n, func(ctx context.Context) { s.make(ctx, w) })
		case "deleted":
			s.make(t.Context(), w)
			died = s.killedBefore(n, func(ctx context.Context) {
				_, _ = s.Delete(ctx, s.cloud, Key{Namespace: name, Name: name}, Retention{"delete", "delete"}, func(string) {})
			})
		}
		if notes := s.remove(name); len(notes) > 0 {
			t.Errorf("%s: notes %v", name, notes)
		}
		s.want(fmt.Sprintf("%s, killed before write %d, and deleted:", kind, n), image, untouched)
		return died
	}
	for _, kind := range []string{"continued", "undone", "deleted"} {
		n := 1
		for run(fmt.Sprintf("%s-%d", kind, n), kind, n) {
			n++ // each of them: between any two another thing can be left
		}
		t.Logf("%s: killed before %d writes", kind, n-1)
		if n < 6 {
			t.Errorf("%s: there were only %d writes", kind, n-1)
		}
	}
}

// TestClustersShareAProject: what they share stays as long as one of them needs it, and what
// is not Slipway's stays with its project.
//
// proves: S-88
func TestClustersShareAProject(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	image := s.image(s.box.Member.Image(t), "node", images.ImageVisibilityPrivate)
	first := s.order("first", image, "")
	first.CreateProject = true
	s.make(t.Context(), first)
	id := s.secret("first").Annotations[annotationProject]
	second := s.order("second", image, "")
	second.Project = id
	s.make(t.Context(), second)
	notes := s.remove("first")
	if len(notes) != 1 || !strings.Contains(notes[0], "project prod-first ("+id+") stays: cluster second/second is in it") {
		t.Errorf("notes %v", notes)
	}
	const kept = "accepted by prod-first, credential in prod-first, image shared, project prod-first"
	s.want("the first is deleted:", image, kept)

	inside, err := s.cloud.Operator.In(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	client, err := inside.Network()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "theirs"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	notes = s.remove("second")
	if len(notes) != 1 || !strings.Contains(notes[0], "stays: it contains network theirs ("+foreign.ID+")") {
		t.Errorf("notes %v", notes)
	}
	s.want("a foreign network is in it:", image, "image private, project prod-first")

	// Those that are deleted at the same time, as by down, leave nothing.
	both := map[string]Wanted{"third": s.order("third", image, ""), "fourth": s.order("fourth", image, "")}
	w := both["third"]
	w.Project, w.CreateProject = "both", true
	s.make(t.Context(), w)
	w = both["fourth"]
	w.Project = "both"
	s.make(t.Context(), w)
	var group sync.WaitGroup
	for name := range maps.Keys(both) {
		group.Go(func() {
			if _, err := s.Delete(t.Context(), s.cloud, Key{Namespace: name, Name: name}, Retention{"delete", "delete"}, func(string) {}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s.want("both are deleted:", image, "image private, project prod-first")
}

// TestImagesThatNeedNoSharing stay as they are: one that everybody has, one that the operator
// shared, and one of the project.
//
// proves: S-88
func TestImagesThatNeedNoSharing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	retail := s.project("retail", "member")
	private := s.image(s.box.Member.Image(t), "node", images.ImageVisibilityPrivate)
	public := s.image(s.box.Admin.Image(t), "public", images.ImageVisibilityPublic)
	community := s.image(s.box.Member.Image(t), "community", images.ImageVisibilityCommunity)
	offered := s.image(s.box.Admin.Image(t), "shared", images.ImageVisibilityShared)
	if err := members.Create(t.Context(), s.box.Admin.Image(t), offered, retail).Err; err != nil {
		t.Fatal(err)
	}
	inside, err := s.cloud.Operator.In(t.Context(), retail)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	glance, err := inside.Image()
	if err != nil {
		t.Fatal(err)
	}
	theirs := s.image(glance, "theirs", images.ImageVisibilityPrivate)
	for name, more := range map[string]string{"public": "", "by-id": "", "named": "machineImage: theirs\nmachineImageId: null"} {
		w := s.order(name, public, more)
		w.Project = "retail"
		if name == "by-id" {
			w.Values["controlPlane"].(map[string]any)["machineImageId"] = offered
			w.Values["nodeGroupDefaults"] = map[string]any{"machineImageId": theirs}
			w.Values["machineImageId"] = community
		}
		s.make(t.Context(), w)
		if lent := s.secret(name).Annotations[annotationLent]; lent != "" {
			t.Errorf("%s: lent %s", name, lent)
		}
		if notes := s.remove(name); len(notes) > 0 {
			t.Errorf("%s: notes %v", name, notes)
		}
	}
	s.want("after all:", private, untouched)
	if m, err := members.Get(t.Context(), s.box.Admin.Image(t), offered, retail).Extract(); err != nil || m.Status != "accepted" {
		t.Errorf("what its owner shared: %+v, %v", m, err)
	}
}
