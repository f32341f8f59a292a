package dev.verbena.s3;

import software.amazon.awssdk.http.auth.spi.scheme.AuthScheme;
import software.amazon.awssdk.http.auth.spi.signer.HttpSigner;
import software.amazon.awssdk.identity.spi.AwsCredentialsIdentity;
import software.amazon.awssdk.identity.spi.IdentityProvider;
import software.amazon.awssdk.identity.spi.IdentityProviders;

/** Signature version 4 with the {@link RdmaSigner} of a call. */
record RdmaAuthScheme(AuthScheme<AwsCredentialsIdentity> scheme, Transfer transfer)
    implements AuthScheme<AwsCredentialsIdentity> {
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
    return new RdmaSigner(scheme.signer(), transfer);
  }
}
