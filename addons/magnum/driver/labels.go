package driver

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// labels reads the labels of a cluster or group and remembers which were asked
// for, so that the others can be told to have no effect.
type labels struct {
	given, defaults map[string]string
	read            map[string]bool
	warnings        []Warning
}

func newLabels(given, defaults map[string]string) *labels {
	return &labels{given: given, defaults: defaults, read: map[string]bool{}}
}

// strange is what magnum-capi-helm strips from labels.
var (
	strange     = regexp.MustCompile(`[^a-zA-Z0-9.\-/_ ]+`)
	strangeCIDR = regexp.MustCompile(`[^a-zA-Z0-9.\-/_ :]+`)
	control     = regexp.MustCompile(`[\x00-\x1f\x7f]+`)
)

// raw is the first given of several names of a label, the present one first.
// Empty is not given.
func (l *labels) raw(names ...string) (value, name string) {
	for _, name := range names {
		l.read[name] = true
	}
	for _, from := range []map[string]string{l.given, l.defaults} {
		for _, name := range names {
			if value := strings.TrimSpace(from[name]); value != "" {
				return value, name
			}
		}
	}
	return "", names[0]
}

// has reports whether a label is given, by the cluster or the operator.
func (l *labels) has(name string) bool {
	value, _ := l.raw(name)
	return value != ""
}

func (l *labels) clean(pattern *regexp.Regexp, value, name string) string {
	cleaned := strings.TrimSpace(pattern.ReplaceAllString(value, ""))
	if cleaned != value {
		l.warn(name, "invalid characters were removed: "+strconv.Quote(cleaned)+" is used")
	}
	return cleaned
}

// text is a label without the characters that magnum-capi-helm strips.
func (l *labels) text(fallback string, names ...string) string {
	value, name := l.raw(names...)
	if value == "" {
		return fallback
	}
	return l.clean(strange, value, name)
}

// free is a label with any characters that print, such as an address.
func (l *labels) free(name string) string {
	value, _ := l.raw(name)
	return l.clean(control, value, name)
}

// list is a label with commas or spaces between its elements.
func (l *labels) list(name string) []string {
	return strings.FieldsFunc(l.free(name), func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
}

// policy is the first of the list of policies of server groups, "" if there is none.
func (l *labels) policy() string {
	const name = "server_group_policies"
	list := l.list(name)
	if len(list) == 0 {
		return ""
	}
	return l.clean(strange, list[0], name)
}

// cidrs is a list of networks.
func (l *labels) cidrs(name string) []string {
	value, _ := l.raw(name)
	separate := func(r rune) bool { return r == ',' || r == ' ' || r == ';' }
	var all []string
	for _, part := range strings.FieldsFunc(value, separate) {
		all = append(all, l.clean(strangeCIDR, part, name))
	}
	return all
}

// boolean is a label that is on or off; what cannot be read is the fallback.
func (l *labels) boolean(fallback bool, names ...string) bool {
	value, name := l.raw(names...)
	switch strings.ToLower(value) {
	case "":
		return fallback
	case "1", "t", "true", "on", "y", "yes":
		return true
	case "0", "f", "false", "off", "n", "no":
		return false
	}
	l.warn(name, strconv.Quote(value)+" is neither true nor false; "+strconv.FormatBool(fallback)+" is used")
	return fallback
}

// integer is a label that is a number, not below 0; what cannot be read is the
// fallback.
func (l *labels) integer(fallback int, names ...string) int {
	value, name := l.raw(names...)
	if value == "" {
		return fallback
	}
	number, err := strconv.Atoi(value)
	if err != nil || number < 0 {
		l.warn(name, strconv.Quote(value)+" is not a number; "+strconv.Itoa(fallback)+" is used")
		return fallback
	}
	return number
}

func (l *labels) warn(name, message string) {
	l.warnings = append(l.warnings, Warning{"label " + name, message})
}

// leftOver are all warnings, with those of labels nobody asked for.
func (l *labels) leftOver() []Warning {
	for _, name := range slices.Sorted(maps.Keys(l.given)) {
		if l.read[name] {
			continue
		}
		why, known := withoutEffect(name)
		if !known {
			why = "unknown label without effect; docs/guides/magnum-labels.md lists the supported ones"
		}
		l.warn(name, why)
	}
	return l.warnings
}

// withoutEffect says why a label that other drivers know does nothing here.
func withoutEffect(name string) (string, bool) {
	const versions = "no effect: versions come with the chart; upgrade the cluster to a newer template instead"
	why := map[string]string{
		"kube_tag": "no effect: the version is the image's property kube_version", "capi_helm_chart_version": versions,
		"calico_tag": versions, "cilium_tag": versions, "cloud_provider_tag": versions, "cinder_csi_plugin_tag": versions,
		"manila_csi_plugin_tag":       versions,
		"cilium_hubble_ui_enabled":    "no effect: install Hubble's interface on the cluster",
		"manila_csi_share_network_id": "no effect: set it in a storage class of your own",
		"different_failure_domain":    "no effect: use server_group_policies or a node group for each availability zone",
		"audit_log_maxage":            "no effect: use the label audit_log_max_age", "audit_log_maxbackup": "no effect: use the label audit_log_max_backup",
		"audit_log_maxsize": "no effect: use the label audit_log_max_size",
	}[name]
	if why == "" && strings.HasPrefix(name, "csi_") && strings.HasSuffix(name, "_tag") {
		why = versions
	}
	return why, why != ""
}
