{{/*
The pod of a role. Takes root, role (scorer, exporter, audit), image, command, port, grace.
*/}}
{{- define "rag-monitor.pod" -}}
{{- $root := .root -}}
{{- $shared := .root.Values.pod -}}
{{- $own := index .root.Values .role -}}
{{- /* What a role sets takes the place of what stands in pod, also where it is empty. */ -}}
{{- $of := dict -}}
{{- range tuple "securityContext" "containerSecurityContext" "priorityClassName" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" -}}
{{- $_ := set $of . (get (hasKey $own . | ternary $own $shared) .) -}}
{{- end -}}
metadata:
  annotations:
    # A change of the configuration starts the pods anew.
    checksum/config: {{ toJson .root.Values.config | sha256sum }}
    {{- with merge dict ($own.annotations | default dict) ($shared.annotations | default dict) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "rag-monitor.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
    {{- with merge dict ($own.labels | default dict) ($shared.labels | default dict) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "rag-monitor.serviceAccount" .root | quote }}
  automountServiceAccountToken: false
  # A Service of the name rag-monitor-audit would set RAG_MONITOR_AUDIT_PORT, which looks like ours.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .grace }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $of.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $of.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with $of.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $of.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $of.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with $of.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "rag-monitor.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .role }}
    {{- end }}
  containers:
    - name: {{ .role }}
      image: {{ include "rag-monitor.image" . }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: [rag-monitor]
      args: {{ toJson .args }}
      env:
        {{- include "rag-monitor.env" . | nindent 8 }}
      ports:
        - name: http
          containerPort: {{ .port }}
      # The port is bound first, and then what takes longer: replaying, waiting for brokers.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 60
      # Fails for a stuck loop only, and never for a dependency: a restart mends no broker.
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      {{- with $of.containerSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "rag-monitor.mounts" . | nindent 8 }}
  volumes:
    {{- include "rag-monitor.volumes" . | nindent 4 }}
{{- end -}}

{{- define "rag-monitor.env" -}}
{{- $known := .root.Files.Get "files/settings.yaml" | fromYaml -}}
- name: RAG_MONITOR_CONFIG
  value: /etc/rag-monitor/monitor.yaml
# The image says 0.0.0.0, and a variable goes before the file.
- name: RAG_MONITOR_HTTP__HOST
  value: {{ dig "http" "host" "0.0.0.0" .root.Values.config | quote }}
{{- range $setting, $key := include "rag-monitor.keys" . | fromJson }}
- name: {{ include "rag-monitor.variable" $setting }}{{ has $setting $known.files | ternary "" "_FILE" }}
  value: /run/secrets/rag-monitor/{{ $key }}
{{- end }}
{{- if and (eq .role "audit") .root.Values.audit.persistence.enabled }}
- name: RAG_MONITOR_AUDIT__DATABASE
  value: sqlite:////var/lib/rag-monitor/audits.db
{{- end }}
{{- with concat .root.Values.pod.extraEnv ((index .root.Values .role).extraEnv | default list) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "rag-monitor.mounts" -}}
- name: config
  mountPath: /etc/rag-monitor
  readOnly: true
# All that may be written, where the root is read-only.
- name: tmp
  mountPath: /tmp
{{- if include "rag-monitor.keys" . | fromJson }}
- name: secrets
  mountPath: /run/secrets/rag-monitor
  readOnly: true
{{- end }}
{{- if and (eq .role "audit") .root.Values.audit.persistence.enabled }}
- name: audits
  mountPath: /var/lib/rag-monitor
{{- end }}
{{- with concat .root.Values.pod.extraVolumeMounts ((index .root.Values .role).extraVolumeMounts | default list) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "rag-monitor.volumes" -}}
- name: config
  configMap:
    name: {{ include "rag-monitor.fullname" .root }}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- with include "rag-monitor.keys" . | fromJson }}
- name: secrets
  secret:
    secretName: {{ $.root.Values.secrets.existingSecret | quote }}
    # Of the group alone, which fsGroup makes the process's own.
    defaultMode: 0440
    # Only what this role needs.
    items:
      {{- range values . | uniq | sortAlpha }}
      - key: {{ . | quote }}
        path: {{ . | quote }}
      {{- end }}
{{- end }}
{{- if and (eq .role "audit") .root.Values.audit.persistence.enabled }}
- name: audits
  persistentVolumeClaim:
    claimName: {{ .root.Values.audit.persistence.existingClaim | default (printf "%s-audit" (include "rag-monitor.fullname" .root)) | quote }}
{{- end }}
{{- with concat .root.Values.pod.extraVolumes ((index .root.Values .role).extraVolumes | default list) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A Deployment around the pod; replicas is left out where something else sets it. */}}
{{- define "rag-monitor.deployment" -}}
{{- $own := index .root.Values .role -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "rag-monitor.fullname" .root }}-{{ .role }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "rag-monitor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  minReadySeconds: {{ $own.minReadySeconds }}
  strategy:
    {{- if eq $own.updateStrategy.type "Recreate" }}
    type: Recreate
    {{- else }}
    {{- toYaml $own.updateStrategy | nindent 4 }}
    {{- end }}
  selector:
    matchLabels:
      {{- include "rag-monitor.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  template:
    {{- include "rag-monitor.pod" . | nindent 4 }}
{{- end -}}
