package adopt

import (
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/fault"
)

// valueAdopted is the chart's key for what machines and addons keep.
const valueAdopted = "adopted"

// translate makes values for Slipway's chart that mean what the release's values mean to
// its own chart. It reports false where the chart refuses them.
func (c *Cluster) translate() bool {
	own, err := openstackcluster.Chart()
	if err != nil {
		c.problem("Slipway's chart: "+err.Error(), "this is a fault of Slipway")
		return false
	}
	given, theirs := copied(c.release.Config), copied(c.release.Chart.Values)
	values := copied(c.release.Config)
	groups(values, theirs)
	defaults(values, theirs, own.Values, "")
	put(values, []string{"addons", "enabled"}, false) // what runs on the cluster is kept object by object
	ok := c.prune(values, given)
	c.values = values
	return ok
}

// copied is a deep copy, with numbers as JSON has them.
func copied(values map[string]any) map[string]any {
	all := map[string]any{}
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || all == nil {
		return map[string]any{}
	}
	return all
}

// unlikeDefaults are the paths whose defaults are not carried over: what a machine gets
// from them comes with Slipway's own bootstrap, or does not concern this cluster.
func unlikeDefaults(path string) bool {
	return path == "autoscaler" || path == "addons" || path == "nodeGroups" || path == "azimuthAuthorizationWebhook" || strings.HasSuffix(path, "kubeadmConfigSpec")
}

// defaults writes down the defaults of their chart that are other than ours.
func defaults(values, theirs, ours map[string]any, path string) {
	for _, key := range sortedKeys(theirs) {
		at := below(path, key)
		if unlikeDefaults(at) {
			continue
		}
		branch, isMap := theirs[key].(map[string]any)
		own, ownMap := ours[key].(map[string]any)
		given, there := values[key]
		mine, givenMap := given.(map[string]any)
		switch {
		case there && (!givenMap || !isMap): // the user's word counts, also null
		case isMap && ownMap && (there || len(own) > 0):
			if !there {
				mine = map[string]any{}
			}
			defaults(mine, branch, own, at)
			if len(mine) > 0 {
				values[key] = mine
			}
		case isMap && there:
			defaults(mine, branch, own, at)
		case len(within("", theirs[key], ours[key]))+len(within("", ours[key], theirs[key])) > 0:
			values[key] = theirs[key]
		}
	}
}

// groups gives node groups the meaning that they have in capi-helm-charts, where an empty
// value of a group (false, 0, "", null) does not override a default.
func groups(values, theirs map[string]any) {
	if _, given := values["nodeGroups"]; !given && theirs["nodeGroups"] != nil {
		values["nodeGroups"] = copied(theirs)["nodeGroups"]
	}
	base, _ := copied(theirs)["nodeGroupDefaults"].(map[string]any)
	over, _ := values["nodeGroupDefaults"].(map[string]any)
	base = laid(over, base)
	list, _ := values["nodeGroups"].([]any)
	for _, one := range list {
		if group, ok := one.(map[string]any); ok {
			fill(group, base)
		}
	}
}

// laid merges values over others, tables into tables.
func laid(over, under map[string]any) map[string]any {
	all := maps.Clone(under)
	if all == nil {
		all = map[string]any{}
	}
	for key, value := range over {
		table, isTable := value.(map[string]any)
		if was, wasTable := all[key].(map[string]any); isTable && wasTable {
			value = laid(table, was)
		}
		all[key] = value
	}
	return all
}

// fill takes the empty values out of a group that a default stands behind.
func fill(group, base map[string]any) {
	for key, fallback := range base {
		value, given := group[key]
		if !given {
			continue
		}
		inner, isMap := value.(map[string]any)
		table, isTable := fallback.(map[string]any)
		switch {
		case isMap && isTable && len(inner) > 0:
			fill(inner, table)
		case nothing(value) && !nothing(fallback):
			delete(group, key)
		}
	}
}

// rounds bounds how often the schema is asked: every answer takes keys away.
const rounds = 8

// prune takes out what Slipway's chart does not know, and says what of it the user had
// written. What the chart refuses otherwise is a problem.
func (c *Cluster) prune(values, given map[string]any) bool {
	for range rounds {
		var left []error
		removed := false
		for _, one := range fault.All(openstackcluster.Check(values)) {
			var wrong *fault.Fault
			if !errors.As(one, &wrong) {
				c.problem("its values cannot be checked: "+one.Error(), "this is a fault of Slipway")
				return false
			}
			unknown := wrong.Err.Error() == "unknown key"
			if !unknown && !strings.HasPrefix(wrong.Object, "addons.") {
				left = append(left, one)
				continue
			}
			path := steps(wrong.Object)
			if value, there := at(given, path); there && !nothing(value) {
				c.NoCounterpart = append(c.NoCounterpart, "value "+wrong.Object+": Slipway's chart does not have it, and leaves it out")
			}
			removed = cut(values, path) || removed
		}
		if removed {
			continue
		}
		for _, one := range left {
			c.problem("Slipway's chart refuses its value "+one.Error(), "correct the value with helm upgrade and the release's own chart")
		}
		return len(left) == 0
	}
	c.problem("its values have too many keys that Slipway's chart does not know", "clean up the values with helm upgrade")
	return false
}

// steps splits a path such as nodeGroups[0].name. A key with a dot in it is found by cut.
func steps(path string) []string {
	return strings.FieldsFunc(strings.NewReplacer("[", ".", "]", "").Replace(path), func(r rune) bool { return r == '.' })
}

// next is one step down; keys may have dots, so that the longest that fits is taken.
func next(value any, path []string) (any, int) {
	switch v := value.(type) {
	case map[string]any:
		for n := len(path); n > 0; n-- {
			if inner, there := v[strings.Join(path[:n], ".")]; there {
				return inner, n
			}
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(v) {
			return v[i], 1
		}
	}
	return nil, 0
}

// at is the value at a path.
func at(value any, path []string) (any, bool) {
	for len(path) > 0 {
		inner, n := next(value, path)
		if n == 0 {
			return nil, false
		}
		value, path = inner, path[n:]
	}
	return value, true
}

// cut takes the value at a path away.
func cut(value any, path []string) bool {
	for len(path) > 0 {
		inner, n := next(value, path)
		if n == 0 {
			return false
		}
		if table, ok := value.(map[string]any); ok && n == len(path) {
			delete(table, strings.Join(path, "."))
			return true
		}
		value, path = inner, path[n:]
	}
	return false
}

// put sets a value at a path of tables.
func put(values map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		inner, ok := values[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			values[key] = inner
		}
		values = inner
	}
	values[path[len(path)-1]] = value
}
