package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// accept makes an operation of a request. Only one can be the instance's next one.
func (c *call) accept(i *v1alpha1.VNFInstance, kind v1alpha1.OperationType, text []byte, levels map[string]int32) error {
	params, secrets, err := redact(text)
	if err != nil {
		return err
	}
	op := &v1alpha1.VNFOperation{ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace, Name: v1alpha1.OperationID(i.Name, i.Status.Sequence+1)},
		Spec: v1alpha1.VNFOperationSpec{ProjectID: c.token.ProjectID, UserID: c.token.UserID, InstanceID: i.Name, Sequence: i.Status.Sequence + 1,
			Operation: kind, Params: params, Levels: levels}}
	if busy, err := c.busy(i); err != nil {
		return err
	} else if busy {
		return c.occupied(i)
	}
	if (kind == v1alpha1.Instantiate || kind == v1alpha1.ModifyInfo) && len(secrets) > 0 {
		if op.Spec.Secret, err = c.keep(i, secrets); err != nil {
			return err
		}
	}
	err = c.s.o.Worker.Client.Create(c.ctx(), op)
	// Without an answer it may be there, and need its Secret.
	var status apierrors.APIStatus
	if op.Spec.Secret != "" && errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace, Name: op.Spec.Secret}}
		_ = c.s.o.Worker.Client.Delete(c.ctx(), secret) // it goes with the instance at the latest
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return c.occupied(i)
	case err != nil:
		return fmt.Errorf("creating operation: %w", err)
	}
	return c.empty(http.StatusAccepted, c.links.Operation(op.Name))
}

// keep puts the secrets of a connection into a Secret that goes with the instance.
func (c *call) keep(i *v1alpha1.VNFInstance, secrets map[string][]byte) (string, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace, Name: "vim-" + uuid.NewString(),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion().String(), Kind: "VNFInstance", Name: i.Name, UID: i.UID}}}, Data: secrets}
	if err := c.s.o.Worker.Client.Create(c.ctx(), secret); err != nil {
		return "", fmt.Errorf("keeping the secrets of vimConnectionInfo: %w", err)
	}
	return secret.Name, nil
}

// needs reads an instance that has to be in a state.
func (c *call) needs(state v1alpha1.InstanceState) (*v1alpha1.VNFInstance, error) {
	i, err := c.instance()
	if err != nil {
		return nil, err
	}
	if busy, err := c.busy(i); err != nil {
		return nil, err
	} else if busy {
		return nil, c.occupied(i)
	}
	if i.Status.State != state {
		return nil, refuse(http.StatusConflict, "VNF instance %s is %s.", i.Name, i.Status.State)
	}
	return i, nil
}

func instantiate(c *call) error {
	var body struct {
		VIM map[string]struct {
			ID string `json:"vimId"`
		} `json:"vimConnectionInfo"`
	}
	text, err := c.body(request.Instantiate, &body)
	if err != nil {
		return err
	}
	i, err := c.needs(v1alpha1.NotInstantiated)
	if err != nil {
		return err
	}
	for _, vim := range body.VIM {
		if vim.ID != "" && vim.ID != c.s.o.VIMID {
			return refuse(http.StatusNotFound, "There is no VIM %s; clusters are made on %s.", vim.ID, c.s.o.VIMID)
		}
	}
	return c.accept(i, v1alpha1.Instantiate, text, nil)
}

func scale(c *call) error {
	body := struct {
		Type   string `json:"type"`
		Aspect string `json:"aspectId"`
		Steps  int32  `json:"numberOfSteps"`
	}{Steps: 1}
	text, err := c.body(request.Scale, &body)
	if err != nil {
		return err
	}
	i, err := c.needs(v1alpha1.Instantiated)
	if err != nil {
		return err
	}
	limit := int32(-1)
	for _, t := range i.Status.Targets {
		if t.Aspect == body.Aspect && t.Aspect != "" {
			limit = t.MaxLevel
		}
	}
	if limit < 0 {
		return refuse(http.StatusBadRequest, "aspectId: the package has no aspect %s.", body.Aspect)
	}
	if body.Type == "SCALE_IN" {
		body.Steps = -body.Steps
	}
	level := int64(i.Status.Levels[body.Aspect]) + int64(body.Steps)
	if level < 0 || level > int64(limit) {
		return refuse(http.StatusBadRequest, "numberOfSteps: level %d is not between 0 and %d.", level, limit)
	}
	levels := maps.Clone(i.Status.Levels)
	if levels == nil {
		levels = map[string]int32{}
	}
	levels[body.Aspect] = int32(level) //nolint:gosec // between 0 and the limit
	return c.accept(i, v1alpha1.Scale, text, levels)
}

// plain accepts a request about which nothing is to be checked here.
func (c *call) plain(kind request.Operation, operation v1alpha1.OperationType) error {
	text, err := c.body(kind, &struct{}{})
	if err != nil {
		return err
	}
	i, err := c.needs(v1alpha1.Instantiated)
	if err != nil {
		return err
	}
	return c.accept(i, operation, text, nil)
}

func heal(c *call) error { return c.plain(request.Heal, v1alpha1.Heal) }

func terminate(c *call) error { return c.plain(request.Terminate, v1alpha1.Terminate) }

func changePackage(c *call) error {
	var body struct {
		VNFDID string         `json:"vnfdId"`
		VIM    map[string]any `json:"vimConnectionInfo"`
		Params struct {
			Files []string `json:"lcm-kubernetes-def-files"`
			Chart string   `json:"helm_chart_path"`
			Units []struct {
				ID string `json:"vdu_id"`
			} `json:"vdu_params"`
		} `json:"additionalParams"`
	}
	text, err := c.body(request.Change, &body)
	if err != nil {
		return err
	}
	i, err := c.needs(v1alpha1.Instantiated)
	if err != nil {
		return err
	}
	if len(body.VIM) > 0 {
		return refuse(http.StatusBadRequest, "vimConnectionInfo: it cannot be changed; terminate and instantiate.")
	}
	switch chart := i.Status.Release != nil; {
	case !chart && body.Params.Chart != "":
		return refuse(http.StatusBadRequest, "additionalParams: helm_chart_path is not for an instance of manifests.")
	case chart && len(body.Params.Files) > 0:
		return refuse(http.StatusBadRequest, "additionalParams: lcm-kubernetes-def-files is not for an instance of a chart.")
	case !chart && len(body.Params.Files) == 0:
		return refuse(http.StatusBadRequest, "additionalParams: lcm-kubernetes-def-files is missing.")
	}
	content, err := c.usable(body.VNFDID)
	if err != nil {
		return err
	}
	for _, unit := range body.Params.Units {
		if !slices.Contains(content.Units, unit.ID) {
			return refuse(http.StatusBadRequest, "vdu_params: the package has no VDU %s.", unit.ID)
		}
	}
	return c.accept(i, v1alpha1.ChangePackage, text, nil)
}

// renewable looks whether a connection of a request is the one that the instance uses: only
// its token can be another one.
func renewable(i *v1alpha1.VNFInstance, vims map[string]any) error {
	if len(vims) == 0 {
		return nil
	}
	if i.Status.State != v1alpha1.Instantiated {
		return refuse(http.StatusBadRequest, "vimConnectionInfo: VNF instance %s is %s; give the token when you instantiate it.", i.Name, i.Status.State)
	}
	var known map[string]any
	if i.Status.VIM != nil {
		if err := json.Unmarshal(i.Status.VIM.Raw, &known); err != nil {
			return fmt.Errorf("reading vimConnectionInfo of the instance: %w", err)
		}
	}
	if i.Status.VIMSecret == "" || len(known) == 0 {
		return refuse(http.StatusConflict, "vimConnectionInfo: VNF instance %s was not instantiated with a bearer_token.", i.Name)
	}
	used := slices.Sorted(maps.Keys(known))[0]
	if _, there := vims[used]; !there || len(vims) > 1 {
		return refuse(http.StatusBadRequest, "vimConnectionInfo: VNF instance %s uses %s alone.", i.Name, used)
	}
	return nil
}

func modifyInstance(c *call) error {
	var body struct {
		VNFDID string         `json:"vnfdId"`
		VIM    map[string]any `json:"vimConnectionInfo"`
	}
	text, err := c.body(request.Modify, &body)
	if err != nil {
		return err
	}
	i, err := c.instance()
	if err != nil {
		return err
	}
	if err := renewable(i, body.VIM); err != nil {
		return err
	}
	if body.VNFDID != "" && body.VNFDID != i.Status.VNFDID {
		if i.Status.State != v1alpha1.NotInstantiated {
			return refuse(http.StatusConflict, "vnfdId: VNF instance %s is instantiated; use change_vnfpkg.", i.Name)
		}
		if _, err := c.usable(body.VNFDID); err != nil {
			return err
		}
	}
	return c.accept(i, v1alpha1.ModifyInfo, text, nil)
}
