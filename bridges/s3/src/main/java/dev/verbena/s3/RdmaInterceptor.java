package dev.verbena.s3;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.reactivestreams.Publisher;
import software.amazon.awssdk.core.SdkClient;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.SelectedAuthScheme;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.SdkPublisher;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.interceptor.SdkInternalExecutionAttribute;
import software.amazon.awssdk.http.Abortable;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.http.auth.aws.scheme.AwsV4AuthScheme;
import software.amazon.awssdk.http.auth.spi.scheme.AuthScheme;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;

/**
 * Sees the calls of a client: has those that may go by RDMA signed by an {@link RdmaSigner}, and
 * puts what was received by RDMA in the place of the bodies of responses. The SDK loads it from the
 * class path; without endpoints in the settings it does nothing.
 */
public final class RdmaInterceptor implements ExecutionInterceptor {
  private static final ExecutionAttribute<Transfer> TRANSFER =
      new ExecutionAttribute<>("dev.verbena.s3.Transfer");

  /** A client may have two of them: {@link S3Rdma#configure}. */
  private static final ExecutionAttribute<RdmaInterceptor> OWNER =
      new ExecutionAttribute<>("dev.verbena.s3.RdmaInterceptor");

  /** How many bytes of a body that is not used are read. */
  private static final int SHORT = 64 << 10;

  private static final int SHORT_BUFFERS = 8;

  private static final Set<String> BODY_HOOKS =
      Set.of(
          "modifyHttpContent",
          "modifyAsyncHttpContent",
          "modifyHttpResponseContent",
          "modifyAsyncHttpResponseContent");

  /**
   * Whether an interceptor of a program can change bodies. The bridge does not see what it makes of
   * a response, nor of the data of an {@link S3Buffer}.
   */
  private static final ClassValue<Boolean> CHANGES_BODIES =
      new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
          return !type.getName().startsWith("software.amazon.awssdk.")
              && type != RdmaInterceptor.class
              && Arrays.stream(type.getMethods())
                  .filter(method -> BODY_HOOKS.contains(method.getName()))
                  .anyMatch(method -> method.getDeclaringClass() != ExecutionInterceptor.class);
        }
      };

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
  public SdkHttpRequest modifyHttpRequest(
      Context.ModifyHttpRequest context, ExecutionAttributes attributes) {
    Operation operation = endpoints.isEmpty() ? null : Operation.of(context.request()).orElse(null);
    if (operation != null && attributes.getAttribute(TRANSFER) == null) {
      Transfer transfer =
          new Transfer(
              operation,
              endpoints,
              suits(context.request(), attributes),
              attributes.getAttribute(S3Buffer.ATTRIBUTE),
              context.asyncRequestBody().orElse(null));
      attributes.putAttribute(TRANSFER, transfer).putAttribute(OWNER, this);
      signBy(transfer, attributes);
    }
    return context.httpRequest();
  }

  /** The SDK selects the signer later; versions before 2.47 have selected it. */
  @SuppressWarnings("unchecked") // Signature version 4 has credentials of AWS.
  private static void signBy(Transfer transfer, ExecutionAttributes attributes) {
    Map<String, AuthScheme<?>> schemes =
        attributes.getAttribute(SdkInternalExecutionAttribute.AUTH_SCHEMES);
    if (schemes != null) {
      Map<String, AuthScheme<?>> own = new HashMap<>(schemes);
      own.computeIfPresent(
          AwsV4AuthScheme.SCHEME_ID,
          (_, scheme) -> new RdmaAuthScheme((AuthScheme<AwsCredentialsIdentity>) scheme, transfer));
      attributes.putAttribute(SdkInternalExecutionAttribute.AUTH_SCHEMES, Map.copyOf(own));
    }
    SelectedAuthScheme<?> selected =
        attributes.getAttribute(SdkInternalExecutionAttribute.SELECTED_AUTH_SCHEME);
    if (selected != null
        && selected.authSchemeOption().schemeId().equals(AwsV4AuthScheme.SCHEME_ID)) {
      var scheme = (SelectedAuthScheme<AwsCredentialsIdentity>) selected;
      attributes.putAttribute(
          SdkInternalExecutionAttribute.SELECTED_AUTH_SCHEME,
          new SelectedAuthScheme<>(
              scheme.identity(),
              new RdmaSigner(scheme.signer(), transfer),
              scheme.authSchemeOption()));
    }
  }

  /** A declined call must be repeated by the client, with the body that the signer gets. */
  @SuppressWarnings("deprecation") // Policies are, but programs have them.
  private boolean suits(SdkRequest request, ExecutionAttributes attributes) {
    SdkClient client = attributes.getAttribute(SdkInternalExecutionAttribute.SDK_CLIENT);
    Optional<ClientOverrideConfiguration> configuration =
        switch (client) {
          case S3Client c -> Optional.of(c.serviceClientConfiguration().overrideConfiguration());
          case S3AsyncClient c ->
              Optional.of(c.serviceClientConfiguration().overrideConfiguration());
          case null, default -> Optional.empty();
        };
    boolean isOff =
        configuration.flatMap(c -> c.retryStrategy()).filter(s -> s.maxAttempts() <= 1).isPresent()
            || configuration
                .flatMap(c -> c.retryPolicy())
                .filter(p -> p.numRetries() < 1)
                .isPresent();
    boolean hasPlugins = // They may switch it off.
        request.overrideConfiguration().filter(c -> !c.plugins().isEmpty()).isPresent();
    return !isOff && !hasPlugins && configuration.filter(this::changesBodies).isEmpty();
  }

  private boolean changesBodies(ClientOverrideConfiguration configuration) {
    if (endpoints.settings().interceptors()) {
      return false;
    }
    Optional<String> changing =
        configuration.executionInterceptors().stream()
            .<Class<?>>map(Object::getClass)
            .filter(CHANGES_BODIES::get)
            .findFirst()
            .map(Class::getName);
    changing.ifPresent(
        type ->
            Log.once(
                System.Logger.Level.INFO,
                type,
                "calls of clients with an interceptor that can change bodies, "
                    + (type + ", go by HTTP: see " + Settings.PREFIX + "interceptors")));
    return changing.isPresent();
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
    context.responseBody().ifPresent(RdmaInterceptor::end);
    Content received = transfer.received();
    return Optional.of(received == null ? InputStream.nullInputStream() : received.stream());
  }

  @Override
  public Optional<Publisher<ByteBuffer>> modifyAsyncHttpResponseContent(
      Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
    Transfer transfer = own(attributes);
    if (transfer == null || !transfer.replacesBody(context.httpRequest())) {
      return context.responsePublisher();
    }
    context
        .responsePublisher()
        .ifPresent(body -> SdkPublisher.adapt(body).limit(SHORT_BUFFERS).subscribe(_ -> {}));
    Content received = transfer.received();
    return Optional.of(received == null ? AsyncRequestBody.empty() : received.publisher());
  }

  /** A short body is read, so that the connection can be used again. */
  private static void end(InputStream body) {
    try (body) {
      if (body.readNBytes(SHORT).length == SHORT && body instanceof Abortable abortable) {
        abortable.abort();
      }
    } catch (IOException e) { // The connection is not used again.
      Log.LOGGER.log(System.Logger.Level.DEBUG, "the body of a response was not read", e);
    }
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
