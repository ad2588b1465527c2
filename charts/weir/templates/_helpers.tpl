{{- define "weir.name" -}}
{{- if contains "weir" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-weir" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "weir.account" -}}
{{ .Values.serviceAccount.name | default (include "weir.name" .) }}
{{- end }}

{{- define "weir.selector" -}}
app.kubernetes.io/name: weir-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* (list ROOT IMAGE): registry/repository@digest, or :tag */}}
{{- define "weir.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 }}
{{- with $root.Values.global.imageRegistry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* What a pod of the operator's image has, whatever it runs */}}
{{- define "weir.pod" -}}
serviceAccountName: {{ include "weir.account" . }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "weir.container" -}}
image: {{ include "weir.image" (list . .Values.image.operator) }}
imagePullPolicy: {{ .Values.image.operator.pullPolicy }}
env:
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: WEIR_RUNTIME_IMAGE, value: {{ include "weir.image" (list . .Values.image.runtime) | quote }}}
- {name: WEIR_RUNTIME_PULL_POLICY, value: {{ .Values.image.runtime.pullPolicy }}}
- {name: WEIR_RUNTIME_PULL_SECRETS, value: {{ join "," .Values.image.runtime.pullSecrets | quote }}}
- {name: WEIR_WATCH_NAMESPACES, value: {{ join "," .Values.watchNamespaces | quote }}}
- {name: WEIR_CLAIM, value: {{ .Values.exchange.claim }}}
- {name: WEIR_INSTALLATION, value: {{ .Values.installation | quote }}}
- {name: WEIR_OPERATOR_CLASS, value: {{ .Values.operatorClass | quote }}}
- {name: WEIR_TRIGGER_MS, value: {{ .Values.fragments.triggerMs | int | quote }}}
- {name: WEIR_LEASE_SECONDS, value: {{ .Values.fragments.leaseSeconds | int | quote }}}
- {name: WEIR_EXECUTORS, value: {{ .Values.fragments.executors | quote }}}
- {name: WEIR_HOSTS, value: {{ .Values.fragments.hosts | quote }}}
- {name: WEIR_PROMETHEUS_URL, value: {{ .Values.prometheus.url | quote }}}
- {name: WEIR_METRICS_PORT, value: "8080"}
{{- if .Values.webhook.enabled }}
- {name: WEIR_WEBHOOK_PORT, value: "9443"}
{{- if not (include "weir.webhookSecret" .) }}
- {name: WEIR_WEBHOOK_CONFIGURATION, value: {{ include "weir.name" . }}}
- {name: WEIR_WEBHOOK_HOST, value: {{ include "weir.webhookHost" . }}}
{{- end }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "weir.webhook" -}}
{{ include "weir.name" . }}-webhook
{{- end }}

{{- define "weir.webhookHost" -}}
{{ include "weir.webhook" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* The Secret with the webhook's certificate; empty where the operator makes its own. */}}
{{- define "weir.webhookSecret" -}}
{{- with .Values.webhook.certificate }}
{{- if and .secretName .certManager.enabled }}{{ fail "webhook.certificate: give secretName or certManager, not both" }}{{ end }}
{{- if and .secretName (not .caBundle) }}{{ fail "webhook.certificate.caBundle: give the PEM of who signed the certificate in secretName" }}{{ end }}
{{- if .secretName }}{{ .secretName }}{{ else if .certManager.enabled }}{{ include "weir.webhook" $ }}{{ end }}
{{- end }}
{{- end }}
