package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

const templates = "/v1/clustertemplates"

func patchOp(op, path string, value ...any) object {
	o := object{"op": op, "path": path}
	if len(value) > 0 {
		o["value"] = value[0]
	}
	return o
}

func names(list []map[string]any) []string {
	var all []string
	for _, item := range list {
		all = append(all, item["name"].(string))
	}
	slices.Sort(all)
	return all
}

const templateKeys = `uuid name coe image_id cluster_distro server_type driver flavor_id master_flavor_id keypair_id external_network_id fixed_network
fixed_subnet dns_nameserver network_driver volume_driver apiserver_port docker_volume_size docker_storage_driver http_proxy https_proxy no_proxy
registry_enabled insecure_registry tls_disabled master_lb_enabled floating_ip_enabled labels tags public hidden project_id user_id created_at updated_at links`

func sameKeys(t *testing.T, have map[string]any, want string) {
	t.Helper()
	var keys []string
	for key := range have {
		keys = append(keys, key)
	}
	wanted := strings.Fields(want)
	slices.Sort(keys)
	slices.Sort(wanted)
	if !slices.Equal(keys, wanted) {
		t.Errorf("keys\n%v, want\n%v", keys, wanted)
	}
}

// proves: M-T1, M-T2, M-T3, M-T9, M-T18
func TestTemplateCreate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.do(member, http.MethodPost, templates, templateBody().over("keypair_id", "bogus", "cluster_distro", "other")).want(201)
	sameKeys(t, made.body, templateKeys)
	uuid := made.str("uuid")
	if made.header.Get("Location") != b.address+templates+"/"+uuid {
		t.Errorf("Location %q", made.header.Get("Location"))
	}
	made.is("cluster_distro", "ubuntu").is("driver", "k8s_capi_helm_v1").is("network_driver", "calico").is("server_type", "vm").is("keypair_id", "bogus").
		is("floating_ip_enabled", true).is("public", false).is("updated_at", nil).is("project_id", b.project).is("dns_nameserver", nil)
	if link := made.list("links"); link[0]["href"] != b.address+templates+"/"+uuid || link[0]["rel"] != "self" || link[1]["rel"] != "bookmark" {
		t.Errorf("links %v", link)
	}
	if at := made.str("created_at"); !strings.HasSuffix(at, "+00:00") || len(at) != 25 {
		t.Errorf("created_at %q", at)
	}
	if shown := b.do(member, http.MethodGet, templates+"/"+uuid, nil).want(200); shown.text != made.text {
		t.Errorf("shown %s\nmade %s", shown.text, made.text)
	}
	// As magnumclient sends it.
	null := object{"name": nil, "coe": "kubernetes", "image_id": "ubuntu-1.34", "external_network_id": "public", "flavor_id": "m1.medium", "master_flavor_id": nil,
		"keypair_id": nil, "dns_nameserver": "8.8.8.8", "docker_storage_driver": "overlay2", "docker_volume_size": nil, "labels": object{}, "tls_disabled": false,
		"public": false, "registry_enabled": false, "master_lb_enabled": false, "server_type": "vm", "driver": nil, "network_driver": nil, "volume_driver": nil,
		"http_proxy": nil, "https_proxy": nil, "no_proxy": nil, "fixed_network": nil, "fixed_subnet": nil}
	made = b.do(member, http.MethodPost, templates, null).want(201).is("dns_nameserver", "8.8.8.8").is("master_flavor_id", nil).is("labels", object{})
	if name := made.str("name"); !strings.HasSuffix(name, "-template") || strings.Count(name, "-") != 2 {
		t.Errorf("name %q", name)
	}
}

// TestImagesForAnotherProcessor are refused for templates and, where the image of a template
// changed, for clusters, before anything is made. What an image does not say is no reason.
func TestImagesForAnotherProcessor(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Rules.Architecture = "x86_64" })
	const why = "is for aarch64, but clusters here are for x86_64"
	b.do(member, http.MethodPost, templates, templateBody().over("image_id", "of-arm")).want(400).says(why)
	if made := b.do(member, http.MethodGet, templates, nil).want(200).list("clustertemplates"); len(made) != 0 {
		t.Errorf("templates %v", made)
	}
	b.template("name", "silent", "image_id", "ubuntu-1.34")
	uuid := b.template("name", "fits", "image_id", "of-amd")
	b.do(member, http.MethodPatch, templates+"/"+uuid, []object{patchOp("replace", "/image_id", "of-arm")}).want(400).says(why)
	client := b.cloud.Admin.Image(t)
	pages, err := images.List(client, images.ListOpts{Name: "of-amd"}).AllPages(t.Context())
	b.must(err)
	all, err := images.ExtractImages(pages)
	b.must(err)
	change := images.UpdateOpts{images.UpdateImageProperty{Op: images.ReplaceOp, Name: "architecture", Value: "aarch64"}}
	b.must(images.Update(t.Context(), client, all[0].ID, change).Err)
	b.do(member, http.MethodPost, clusters, object{"cluster_template_id": uuid}).want(400).says(why)
	if made := b.credentials(member); len(made) != 0 {
		t.Errorf("credentials %v", made)
	}
	anything := newBench(t)
	anything.template("image_id", "of-arm")
}

// proves: M-T4, M-T5, M-T6, M-T7, M-T8, M-T10, M-T11, M-T12, M-T13, M-T14, M-T15, M-T16, M-T17, M-T48
func TestTemplateRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := templateBody()
	for says, body := range map[string]object{
		"attribute coe":                   good.over("coe", "swarm"),
		"coe is mandatory":                good.without("coe"),
		"image_id is mandatory":           good.without("image_id"),
		`Image \"nothing\": not found`:    good.over("image_id", "nothing"),
		"no property os_distro":           good.over("image_id", "no-distro"),
		"--property kube_version":         good.over("image_id", "no-version"),
		"os_distro windows":               good.over("image_id", "windows"),
		`Flavor \"huge\": not found`:      good.over("flavor_id", "huge"),
		`Flavor \"larger\": not found`:    good.over("master_flavor_id", "larger"),
		"bogus is not supported":          good.over("network_driver", "bogus"),
		"flannel cannot be used":          good.over("network_driver", "flannel"),
		"expecting cinder":                good.over("volume_driver", "bogus"),
		"a.b is no IPv4":                  good.over("dns_nameserver", "a.b"),
		`External network \"nothing\"`:    good.over("external_network_id", "nothing"),
		`Network \"nothing\": not found`:  good.over("fixed_network", "nothing"),
		`Subnet \"nothing\": not found`:   good.over("fixed_subnet", "nothing"),
		"at least 1024":                   good.over("apiserver_port", 80),
		"at most 65535":                   good.over("apiserver_port", 70000),
		"at least 3 GB":                   good.over("docker_storage_driver", "devicemapper", "docker_volume_size", 2),
		"Unknown attribute: foo":          good.over("foo", 1),
		"project_id is read-only":         good.over("project_id", nil),
		"no root disk":                    good.over("flavor_id", "diskless"),
		"Server type bm":                  good.over("server_type", "bm"),
		"driver heat does not exist":      good.over("driver", "heat"),
		"labels: it must be an object":    good.over("labels", nil),
		`the value of \"a\" must be text`: good.over("labels", object{"a": nil}),
		"name: it must be between":        good.over("name", ""),
		"public: it must be true":         good.over("public", "maybe"),
		"uuid: it must be a UUID":         good.over("uuid", "x"),
	} {
		b.do(member, http.MethodPost, templates, body).want(400).says(says)
	}
	b.do(member, http.MethodPost, templates, good.over("dns_nameserver", "192.0.2.1,192.0.2.2")).want(201).is("dns_nameserver", "192.0.2.1,192.0.2.2")
	b.do(member, http.MethodPost, templates, good.over("flavor_id", "diskless", "labels", object{"boot_volume_size": 20})).want(201).is("labels", object{"boot_volume_size": "20"})
	b.do(member, http.MethodPost, templates, good.over("image_id", "no-version", "labels", object{"kube_tag": "v1.34.1"})).want(201)
	id := unknown()
	b.do(member, http.MethodPost, templates, good.over("uuid", strings.ToUpper(id))).want(201).is("uuid", id)
	b.do(member, http.MethodPost, templates, good.over("uuid", id)).want(409)
	warned := b.do(member, http.MethodPost, templates, good.over("labels", object{"auto_heeling_enabled": "true"})).want(201)
	if w := warned.header.Get("Warning"); !strings.Contains(w, "auto_heeling_enabled") {
		t.Errorf("no warning: %q", w)
	}
	warned.is("labels", object{"auto_heeling_enabled": "true"})
}

// proves: M-T19, M-T20, M-T21, M-T22, M-T23, M-T24, M-T25, M-T26, M-T27, M-T47
func TestTemplateVisibility(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := templateBody()
	b.do(member, http.MethodPost, templates, good.over("public", true)).want(403).says("clustertemplate:publish")
	b.do(member, http.MethodPost, templates, good.over("hidden", true)).want(403)
	b.do(reader, http.MethodPost, templates, good).want(403).says("clustertemplate:create")
	b.do(admin, http.MethodPost, templates, good.over("name", "public", "public", true)).want(201).is("public", true)
	hidden := b.do(admin, http.MethodPost, templates, good.over("name", "hidden", "public", true, "hidden", true)).want(201).str("uuid")
	b.do(alien, http.MethodPost, templates, good.over("name", "alien", "external_network_id", nil)).want(201)
	own := b.template("name", "own")
	for who, want := range map[string][]string{member: {"own", "public"}, reader: {"own", "public"}, admin: {"alien", "hidden", "own", "public"}, alien: {"alien", "public"}} {
		for _, path := range []string{templates, templates + "/detail"} {
			list := b.do(who, http.MethodGet, path, nil).want(200).list("clustertemplates")
			if got := names(list); !slices.Equal(got, want) {
				t.Errorf("%s sees %v, want %v", who, got, want)
			}
			sameKeys(t, list[0], templateKeys)
		}
	}
	b.do(member, http.MethodGet, templates+"/"+hidden, nil).want(404)
	b.do(admin, http.MethodGet, templates+"/"+hidden, nil).want(200)
	b.do(alien, http.MethodGet, templates+"/public", nil).want(200)
	b.do(alien, http.MethodGet, templates+"/"+own, nil).want(404)
	b.do(member, http.MethodGet, templates+"/"+unknown(), nil).want(404)
	b.do(member, http.MethodGet, templates+"/nothing", nil).want(404)
	b.do(member, http.MethodGet, templates+"/"+own+"/detail", nil).want(404)
	b.do(alien, http.MethodDelete, templates+"/"+own, nil).want(404)
	b.do(alien, http.MethodDelete, templates+"/public", nil).want(403)
	b.template("name", "own")
	b.do(member, http.MethodGet, templates+"/own", nil).want(409)
	b.do(member, http.MethodGet, templates+"/"+strings.ToUpper(strings.ReplaceAll(own, "-", "")), nil).want(200).is("uuid", own)
}

// proves: M-T28, M-T29, M-T30, M-T31
func TestTemplatePaging(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.MaxLimit = 4 })
	for _, name := range []string{"c", "a", "b"} {
		b.template("name", name)
	}
	var seen []string
	path := templates + "?limit=1&sort_key=name&sort_dir=desc"
	for pages := 0; path != "" && pages < 10; pages++ {
		a := b.do(member, http.MethodGet, path, nil).want(200)
		list := a.list("clustertemplates")
		path = a.str("next")
		if len(list) == 0 {
			break
		}
		seen = append(seen, list[0]["name"].(string))
		if path != "" && (!strings.HasPrefix(path, b.address+"/v1/clustertemplates?") || !strings.Contains(path, "marker="+list[0]["uuid"].(string))) {
			t.Errorf("next %q", path)
		}
	}
	if !slices.Equal(seen, []string{"c", "b", "a"}) {
		t.Errorf("pages %v", seen)
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=x", "sort_key=bogus", "sort_dir=up", "marker=abc", "limit=1%zz"} {
		b.do(member, http.MethodGet, templates+"?"+query, nil).want(400)
	}
	b.do(member, http.MethodGet, templates+"?marker="+unknown(), nil).want(404)
	if next := b.do(member, http.MethodGet, templates+"?limit=5000", nil).want(200).get("next"); next != nil {
		t.Errorf("next %v of a page that is not full", next)
	}
	b.template("name", "d")
	if next := b.do(member, http.MethodGet, templates+"/detail?limit=5000", nil).want(200).str("next"); !strings.Contains(next, "limit=4") || !strings.Contains(next, "/detail?") {
		t.Errorf("next %q, want the limit of the server", next)
	}
}

// proves: M-T32, M-T33, M-T34, M-T35, M-T36, M-T37, M-T38, M-T39, M-T40, M-T41
func TestTemplatePatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.template("keypair_id", "k")
	path := templates + "/" + uuid
	patch := func(who string, status int, operations ...object) *answer {
		t.Helper()
		return b.do(who, http.MethodPatch, path, operations).want(status)
	}
	patched := patch(member, 200, patchOp("replace", "/name", "new")).is("name", "new").is("uuid", uuid)
	sameKeys(t, patched.body, templateKeys)
	if patched.get("updated_at") == nil {
		t.Error("updated_at is null after a change")
	}
	patch(member, 403, patchOp("replace", "/public", true))
	patch(admin, 200, patchOp("replace", "/public", true)).is("public", true)
	patch(admin, 200, patchOp("replace", "/public", "false")).is("public", false)
	patch(admin, 200, patchOp("replace", "/public", "true")).is("public", true)
	patch(member, 200, patchOp("replace", "/labels", "{'a':'b'}")).is("labels", object{"a": "b"})
	patch(member, 200, patchOp("add", "/labels/x", "1")).is("labels", object{"a": "b", "x": "1"})
	patch(member, 200, patchOp("remove", "/labels/x")).is("labels", object{"a": "b"})
	patch(member, 200, patchOp("replace", "/labels", object{"c": 1, "d": true})).is("labels", object{"c": "1", "d": "true"})
	patch(member, 200, patchOp("remove", "/keypair_id")).is("keypair_id", nil)
	patch(member, 200, patchOp("add", "/keypair_id", "again")).is("keypair_id", "again")
	patch(member, 200, patchOp("replace", "/apiserver_port", 8443), patchOp("replace", "/floating_ip_enabled", "false")).is("apiserver_port", 8443).is("floating_ip_enabled", false)
	patch(member, 200, patchOp("remove", "/floating_ip_enabled")).is("floating_ip_enabled", true)
	patch(member, 200, patchOp("replace", "/image_id", "ubuntu-1.35")).is("image_id", "ubuntu-1.35")
	for says, operation := range map[string]object{
		"'/coe' is a mandatory":        patchOp("remove", "/coe"),
		"'/image_id' is a mandatory":   patchOp("remove", "/image_id"),
		"'/network_driver' is a mand":  patchOp("remove", "/network_driver"),
		"'/uuid' is an internal":       patchOp("replace", "/uuid", unknown()),
		"'/project_id' is an internal": patchOp("replace", "/project_id", "p"),
		"no such attribute":            patchOp("replace", "/foo", "p"),
		"has a value already":          patchOp("add", "/name", "p"),
		"needs a value":                patchOp("replace", "/name"),
		"nothing at /labels/zz":        patchOp("remove", "/labels/zz"),
		"nothing at /name/x":           patchOp("add", "/name/x", "1"),
		"nothing at /labels/a/b":       patchOp("add", "/labels/a/b", "1"),
		"add, replace or remove":       patchOp("move", "/name", "x"),
		"is no path":                   patchOp("replace", "name", "x"),
		"at character":                 patchOp("replace", "/labels", "{'a'"),
		"not found":                    patchOp("replace", "/image_id", "nothing"),
		"Unknown attribute":            {"op": "replace", "path": "/name", "value": "x", "from": "y"},
	} {
		patch(member, 400, operation).says(says)
	}
	b.do(member, http.MethodPatch, templates+"/"+unknown(), object{}).want(400)
	b.do(member, http.MethodPatch, templates+"/"+unknown(), nil).want(400)
	b.do(member, http.MethodPatch, templates+"/"+unknown(), []object{patchOp("replace", "/name", "x")}).want(404)
	b.do(reader, http.MethodPatch, path, []object{patchOp("replace", "/name", "x")}).want(403)
	if name := b.do(member, http.MethodGet, path, nil).str("name"); name != "new" {
		t.Errorf("a refused patch changed the name to %q", name)
	}
}

// proves: M-T42, M-T43, M-T44, M-T45, M-T46
func TestTemplateInUse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.template()
	b.cluster(uuid)
	path := templates + "/" + uuid
	patch := func(who string, status int, operations ...object) *answer {
		t.Helper()
		return b.do(who, http.MethodPatch, path, operations).want(status)
	}
	patch(member, 400, patchOp("replace", "/image_id", "ubuntu-1.35")).says("referenced by one or multiple clusters")
	patch(member, 400, patchOp("replace", "/name", "x"), patchOp("replace", "/tags", "a"))
	patch(member, 200, patchOp("replace", "/name", "x")).is("name", "x")
	patch(member, 200, patchOp("replace", "/tags", "a,b")).is("tags", "a,b")
	patch(member, 400, patchOp("remove", "/tags"))
	patch(admin, 200, patchOp("replace", "/hidden", true))
	patch(admin, 200, patchOp("replace", "/hidden", false))
	patch(admin, 200, patchOp("replace", "/public", true))
	patch(admin, 400, patchOp("replace", "/public", false))
	patch(member, 200, patchOp("replace", "/name", "x"))
	b.do(member, http.MethodDelete, path, nil).want(400)
	unused := b.template("name", "unused")
	b.do(reader, http.MethodDelete, templates+"/unused", nil).want(403)
	if a := b.do(member, http.MethodDelete, templates+"/unused", nil).want(204); a.text != "" {
		t.Errorf("a body: %q", a.text)
	}
	b.do(member, http.MethodGet, templates+"/"+unused, nil).want(404)
	b.do(member, http.MethodDelete, templates+"/"+unused, nil).want(404)
}

// TestATemplateOfAClusterStaysReadable: `openstack coe cluster config` reads the template of its
// cluster, also when an operator has hidden it since. Lists and other projects do not see it.
func TestATemplateOfAClusterStaysReadable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	b.do(admin, http.MethodPatch, templates+"/"+template, []object{patchOp("replace", "/public", true)}).want(200)
	hide := func(value bool) {
		b.do(admin, http.MethodPatch, templates+"/"+template, []object{patchOp("replace", "/hidden", value)}).want(200)
	}
	b.do(alien, http.MethodGet, templates+"/"+template, nil).want(200)
	hide(true)
	b.do(alien, http.MethodGet, templates+"/"+template, nil).want(404)
	hide(false)
	b.do(alien, http.MethodPost, clusters, object{"name": "theirs", "cluster_template_id": template}).want(202)
	hide(true)
	b.do(alien, http.MethodGet, templates+"/"+template, nil).want(200).is("uuid", template)
	if listed := b.do(alien, http.MethodGet, templates, nil).want(200); strings.Contains(listed.text, template) {
		t.Error("the list shows it")
	}
	if refused := b.do(alien, http.MethodPost, clusters, object{"cluster_template_id": template}); refused.status == http.StatusAccepted {
		t.Error("another cluster can be made of it")
	}
}
