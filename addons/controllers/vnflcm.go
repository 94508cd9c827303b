package controllers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
)

// shared returns the values of the chart that are not those of a single set.
func shared() []string {
	return []string{"image", "imagePullPolicy", "imagePullSecrets", "trustBundle", "logLevel", "env", "serviceMonitor", "nodeSelector", "tolerations"}
}

// VNFLCM returns the objects of the endpoint for VNFs alone, with values of the chart: those below
// vnflcm, and those that belong to no single set. Its error lists all mistakes in them.
func VNFLCM(values map[string]any) ([]*unstructured.Unstructured, error) {
	loaded, err := Chart()
	if err != nil {
		return nil, err
	}
	known, _ := loaded.Values["vnflcm"].(map[string]any)
	given, _ := values["vnflcm"].(map[string]any)
	var wrong []error
	say := func(key, what, remedy string) { wrong = append(wrong, fault.Usage(key, errors.New(what), remedy)) }
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != "vnflcm" && !slices.Contains(shared(), key) {
			say(key, "there is no such value for the endpoint", "use vnflcm, "+strings.Join(shared(), ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if _, ok := known[key]; !ok {
			say("vnflcm."+key, "there is no such value", "use one of "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	for key, remedy := range map[string]string{"publicEndpoint": "give the URL that clients use, such as https://nfv.example:9890", "clouds": "give a clouds.yaml with an entry vnflcm"} {
		if text, _ := given[key].(string); text == "" {
			say("vnflcm."+key, "it is missing", remedy)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	all := maps.Clone(values)
	all["vnflcm"] = maps.Clone(given)
	all["vnflcm"].(map[string]any)["enabled"] = true
	all["addonProvider"], all["janitor"] = map[string]any{"enabled": false}, map[string]any{"enabled": false}
	objects, err := Objects(Options{Values: all})
	if err != nil {
		return nil, fmt.Errorf("rendering the endpoint: %w", err)
	}
	// Definitions of other sets are theirs to install.
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "CustomResourceDefinition" && !strings.HasSuffix(o.GetName(), ".vnflcm.slipway.sh")
	}), nil
}
