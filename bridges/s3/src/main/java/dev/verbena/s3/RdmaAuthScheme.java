package dev.verbena.s3;

import software.amazon.awssdk.http.auth.spi.scheme.AuthScheme;
import software.amazon.awssdk.http.auth.spi.signer.HttpSigner;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;
import software.amazon.awssdk.identity.spi.IdentityProvider;
import software.amazon.awssdk.identity.spi.IdentityProviders;

/** Signature version 4 with the {@link RdmaSigner}. */
final class RdmaAuthScheme implements AuthScheme<AwsCredentialsIdentity> {
  private final AuthScheme<AwsCredentialsIdentity> scheme;
  private final HttpSigner<AwsCredentialsIdentity> signer;

  private RdmaAuthScheme(AuthScheme<AwsCredentialsIdentity> scheme) {
    this.scheme = scheme;
    this.signer = RdmaSigner.of(scheme.signer());
  }

  /** Returns a scheme whose signer proposes RDMA. */
  @SuppressWarnings("unchecked") // Signature version 4 has credentials of AWS.
  static AuthScheme<?> of(AuthScheme<?> scheme) {
    return scheme instanceof RdmaAuthScheme
        ? scheme
        : new RdmaAuthScheme((AuthScheme<AwsCredentialsIdentity>) scheme);
  }

  @Override
  public String schemeId() {
    return scheme.schemeId();
  }

  @Override
  public IdentityProvider<AwsCredentialsIdentity> identityProvider(IdentityProviders providers) {
    return scheme.identityProvider(providers);
  }

  @Override
  public HttpSigner<AwsCredentialsIdentity> signer() {
    return signer;
  }
}
