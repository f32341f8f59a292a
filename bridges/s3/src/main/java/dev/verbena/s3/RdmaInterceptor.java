package dev.verbena.s3;

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.reactivestreams.Publisher;
import software.amazon.awssdk.core.SdkClient;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.SelectedAuthScheme;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.interceptor.SdkExecutionAttribute;
import software.amazon.awssdk.core.interceptor.SdkInternalExecutionAttribute;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.http.auth.aws.scheme.AwsV4AuthScheme;
import software.amazon.awssdk.http.auth.spi.scheme.AuthScheme;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;

/**
 * Sees the calls of a client: marks those that may go by RDMA for the {@link RdmaSigner}, and puts
 * what was received by RDMA in the place of the bodies of responses. The SDK loads it from the
 * class path; without endpoints in the settings it does nothing.
 */
public final class RdmaInterceptor implements ExecutionInterceptor {
  private static final ExecutionAttribute<Transfer> TRANSFER =
      new ExecutionAttribute<>("dev.verbena.s3.Transfer");

  /** A client may have two of them: {@link S3Rdma#configure}. */
  private static final ExecutionAttribute<RdmaInterceptor> OWNER =
      new ExecutionAttribute<>("dev.verbena.s3.RdmaInterceptor");

  private final Endpoints endpoints;

  /** Reads the settings; called by the SDK. */
  public RdmaInterceptor() {
    this(readable());
  }

  RdmaInterceptor(Endpoints endpoints) {
    this.endpoints = endpoints;
  }

  /** A wrong setting must not end a program that can work without RDMA. */
  private static Endpoints readable() {
    try {
      return Endpoints.of(Settings.read());
    } catch (IllegalArgumentException e) {
      Log.once(System.Logger.Level.WARNING, "settings", "objects go by HTTP: " + e.getMessage());
      return Endpoints.of(Settings.OFF);
    }
  }

  @Override
  public void beforeExecution(Context.BeforeExecution context, ExecutionAttributes attributes) {
    if (endpoints.isEmpty() || Operation.of(context.request()).isEmpty()) {
      return;
    }
    Map<String, AuthScheme<?>> schemes =
        attributes.getAttribute(SdkInternalExecutionAttribute.AUTH_SCHEMES);
    if (schemes != null && schemes.containsKey(AwsV4AuthScheme.SCHEME_ID)) {
      Map<String, AuthScheme<?>> all = new HashMap<>(schemes);
      all.computeIfPresent(AwsV4AuthScheme.SCHEME_ID, (_, scheme) -> RdmaAuthScheme.of(scheme));
      attributes.putAttribute(SdkInternalExecutionAttribute.AUTH_SCHEMES, Map.copyOf(all));
    }
  }

  @Override
  public SdkHttpRequest modifyHttpRequest(
      Context.ModifyHttpRequest context, ExecutionAttributes attributes) {
    Operation operation = endpoints.isEmpty() ? null : Operation.of(context.request()).orElse(null);
    if (operation == null
        || hasOtherSigner(context.request())
        || attributes.getAttribute(TRANSFER) != null
        || !reachesSigner(attributes)) {
      return context.httpRequest();
    }
    Transfer transfer =
        new Transfer(
            operation,
            endpoints,
            isRepeatable(context.request(), attributes),
            attributes.getAttribute(S3Buffer.ATTRIBUTE),
            context.asyncRequestBody().orElse(null));
    attributes.putAttribute(TRANSFER, transfer);
    attributes.putAttribute(OWNER, this);
    return context.httpRequest().toBuilder().putHeader(Calls.HEADER, transfer.number()).build();
  }

  /** Returns whether a bucket is one of S3 Express, or an ARN, which may be of several regions. */
  private static boolean hasOtherSigner(SdkRequest request) {
    String bucket = request.getValueForField("Bucket", String.class).orElse("");
    return bucket.endsWith("--x-s3") || bucket.startsWith("arn:");
  }

  /** Returns whether a signer of the bridge will be called, which removes the header. */
  private static boolean reachesSigner(ExecutionAttributes attributes) {
    boolean isOverridden =
        Boolean.TRUE.equals(attributes.getAttribute(SdkExecutionAttribute.SIGNER_OVERRIDDEN));
    boolean isPresigner = attributes.getAttribute(SdkInternalExecutionAttribute.SDK_CLIENT) == null;
    SelectedAuthScheme<?> selected =
        attributes.getAttribute(SdkInternalExecutionAttribute.SELECTED_AUTH_SCHEME);
    if (isOverridden || isPresigner || selected == null) {
      return false;
    }
    return switch (selected.authSchemeOption().schemeId()) {
      case AwsV4AuthScheme.SCHEME_ID -> {
        attributes.putAttribute(
            SdkInternalExecutionAttribute.SELECTED_AUTH_SCHEME, wrapped(selected));
        yield true;
      }
      case "unset" -> { // It is selected later, among those of beforeExecution.
        Map<String, AuthScheme<?>> schemes =
            attributes.getAttribute(SdkInternalExecutionAttribute.AUTH_SCHEMES);
        yield schemes != null && schemes.get(AwsV4AuthScheme.SCHEME_ID) instanceof RdmaAuthScheme;
      }
      default -> false;
    };
  }

  @SuppressWarnings("unchecked") // Signature version 4 has credentials of AWS.
  private static SelectedAuthScheme<?> wrapped(SelectedAuthScheme<?> selected) {
    SelectedAuthScheme<AwsCredentialsIdentity> scheme =
        (SelectedAuthScheme<AwsCredentialsIdentity>) selected;
    return new SelectedAuthScheme<>(
        scheme.identity(), RdmaSigner.of(scheme.signer()), scheme.authSchemeOption());
  }

  /** A declined call is repeated by the client. */
  @SuppressWarnings("deprecation") // Policies are, but programs have them.
  private static boolean isRepeatable(SdkRequest request, ExecutionAttributes attributes) {
    SdkClient client = attributes.getAttribute(SdkInternalExecutionAttribute.SDK_CLIENT);
    Optional<ClientOverrideConfiguration> configuration =
        switch (client) {
          case S3Client c -> Optional.of(c.serviceClientConfiguration().overrideConfiguration());
          case S3AsyncClient c ->
              Optional.of(c.serviceClientConfiguration().overrideConfiguration());
          default -> Optional.empty();
        };
    boolean isOff =
        configuration.flatMap(c -> c.retryStrategy()).filter(s -> s.maxAttempts() <= 1).isPresent()
            || configuration
                .flatMap(c -> c.retryPolicy())
                .filter(p -> p.numRetries() < 1)
                .isPresent();
    boolean hasPlugins = // They may switch it off.
        request.overrideConfiguration().filter(c -> !c.plugins().isEmpty()).isPresent();
    return !isOff && !hasPlugins;
  }

  private Transfer own(ExecutionAttributes attributes) {
    return attributes.getAttribute(OWNER) == this ? attributes.getAttribute(TRANSFER) : null;
  }

  @Override
  public SdkHttpResponse modifyHttpResponse(
      Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
    Transfer transfer = own(attributes);
    return transfer == null
        ? context.httpResponse()
        : transfer.answer(context.httpRequest(), context.httpResponse());
  }

  @Override
  public Optional<InputStream> modifyHttpResponseContent(
      Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
    Transfer transfer = own(attributes);
    if (transfer == null || !transfer.replacesBody(context.httpRequest())) {
      return context.responseBody();
    }
    context.responseBody().ifPresent(Unwanted::end);
    Content received = transfer.received();
    return Optional.of(received == null ? InputStream.nullInputStream() : new DataStream(received));
  }

  @Override
  public Optional<Publisher<ByteBuffer>> modifyAsyncHttpResponseContent(
      Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
    Transfer transfer = own(attributes);
    if (transfer == null || !transfer.replacesBody(context.httpRequest())) {
      return context.responsePublisher();
    }
    context.responsePublisher().ifPresent(body -> body.subscribe(new Unwanted()));
    Content received = transfer.received();
    return Optional.of(received == null ? AsyncRequestBody.empty() : new DataPublisher(received));
  }

  @Override
  public void afterExecution(Context.AfterExecution context, ExecutionAttributes attributes) {
    Transfer transfer = own(attributes);
    if (transfer != null) {
      transfer.end();
    }
  }

  @Override
  public void onExecutionFailure(Context.FailedExecution context, ExecutionAttributes attributes) {
    Transfer transfer = own(attributes);
    if (transfer != null) {
      transfer.fail();
    }
  }
}
