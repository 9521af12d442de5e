//! The words that boxes of text, menus, banners and the like are named with, in classes and ids.

use super::At::{self, Anywhere, Start, Whole, Word};
use super::Hints;

/// In lower case, separated by blanks.
pub(super) const WORDS: &[(At, Hints, &str)] = &[
    (
        Anywhere,
        Hints::BODY,
        "articlebody article-body article_body article__body article-text articletext article_text \
         article-content articlecontent article_content article__content article__text art-content \
         art-postcontent entry-content entrycontent entry_content entry-body entrybody entry__content \
         post-content post_content postcontent post__content post-body postbody post_body post__body \
         post-text post_text post-entry postentry post_inner_wrapper post-bodycopy body-text bodytext \
         body-copy bodycopy story-body storybody story_body story__body story-content storycontent story-text \
         storytext news-text newstext news-body news-content newsbody news_content newscontent text-content \
         field-name-body field--name-body field-body fulltext single-content blog-content richtext rich-text \
         rte-text page-content__ mw-parser-output markdown-body article-detail detail-text article-main \
         articlemain theme-content paragraph-content content-text article-copy",
    ),
    (Whole, Hints::BODY, "text post entry story articletext"),
    (
        Start,
        Hints::ARTICLE,
        "article single-post post- story hentry h-entry blog-post blogpost main-column postarea newsarticle \
         news-article artikel articulo noticia beitrag",
    ),
    (
        Anywhere,
        Hints::CONTENT,
        "content-main content_main contentmain content-body contentbody content__body main-content \
         maincontent main_content page-content pagecontent page_content content-wrapper content-area \
         section-content wpb_text_column primary-content site-content",
    ),
    (Whole, Hints::CONTENT, "content main primary bodycontent contents inhalt contenido contenu"),
    (Anywhere, Hints::POSITIVE, "article body content entry main page post text blog story column shadow"),
    (
        Anywhere,
        Hints::NEGATIVE,
        "-ad- banner combx contact footer foot- gdpr masthead outbrain promo related share shoutbox sidebar \
         skyscraper sponsor shopping tags widget meta extra rss legends remark supplemental",
    ),
    (
        Start,
        Hints::NAVIGATION,
        "nav menu breadcrumb bread-crumb pagination pager paging subnav topnav skip-link skiplink page-links \
         pagenav wp-pagenavi sitemap toc- table-of-contents tableofcontents jump-to next- prev- previous \
         postnav hamburger megamenu dropdown editsection mw-editsection mw-jump",
    ),
    (Anywhere, Hints::NAVIGATION, "navbar navbox navigation breadcrumb post-nav catlinks submenu"),
    (
        Start,
        Hints::SHARE,
        "shar social sociable addthis addtoany jp-relatedposts sharedaddy jp- follow-us followus follow- \
         facebook twitter-share tweet-button whatsapp pinterest fb- like-button likes bookmark syndication \
         dpsp-content email-this print- printbtn post-sharing teilen compartir partage",
    ),
    (
        Anywhere,
        Hints::SHARE,
        "-share _share social- sharing socialmedia sharebar sharebtn sociallinks socialshare share-button",
    ),
    (
        Start,
        Hints::RELATED,
        "related recommend suggest similar more-from more-stories morestories morefrom more-on more-news \
         morenews most-read mostread most-popular mostpopular most-viewed popular trending also-read alsoread \
         read-also readalso read-next readnext read-more readmore see-also seealso you-may youmay you-might \
         yarpp crp_related zergnet nrelate latest recent- recentpost recirc up-next upnext next-article \
         next-story linkbox link-box teaser elated viral top-stories topstories othernews other-news \
         relacionad verwandt mehr-zum aehnliche weitere relacion story-list newslist news-list read-on \
         inread-related internal-link crosslink keep-reading cross-sell crosssell upsell up-sell also-bought \
         recently-viewed",
    ),
    (
        Anywhere,
        Hints::RELATED,
        "relatedpost related- -related _related -recommend -teaser -stories relatedarticle relatedlinks",
    ),
    (
        Start,
        Hints::COMMENT,
        "comment disqus dsq- respond replies reply- comol livefyre akismet nocomments fb-comments \
         reader-comments hypercomments kommentar commentaire comentario user-comment discussion review-list \
         trackback pingback",
    ),
    (Anywhere, Hints::COMMENT, "comments- -comments _comments commentlist comment-list commentform"),
    (
        Start,
        Hints::INTRUSION,
        "cookie consent gdpr ccpa newsletter popup pop-up modal overlay lightbox interstitial signup sign-up \
         subscribe subscription subscriber paywall premium- login log-in signin sign-in register registration \
         agegate age-gate onetrust cmp- regwall piano- tp-modal mailchimp mc_embed donate donation optin \
         opt-in toast snackbar adblock app-promo download-app",
    ),
    (Anywhere, Hints::INTRUSION, "newsletter cookie- cookieconsent cookielaw"),
    (
        Start,
        Hints::ADVERTISEMENT,
        "adsense advert adv- ad- ads- adbox adslot adunit adcontainer adwrap adblock ad_ ads_ adspace banner \
         sponsor promo taboola outbrain criteo skyscraper dfp gpt- google_ad googlead werbung anzeige \
         publicidad pubblicita mgid revcontent affiliate commercial-unit leaderboard billboard",
    ),
    (Word, Hints::ADVERTISEMENT, "ad advertising advertisement adv"),
    (
        Start,
        Hints::BYLINE,
        "byline by-line author post-author postauthor postedby posted-by posted-on post-meta postmeta \
         postinfo post-info entry-meta article-meta articlemeta article-info article-date dateline timestamp \
         date- pubdate pub-date publish published post-date postdate entry-date tags tag-list taglist \
         tag-links tag-cloud tagcloud post-tag posttag entry-tag article-tag articletag meta- metadata \
         post-categories cat-links categories writer contributor biography about-author user-info userinfo \
         user-profile rating reading-time readtime read-time article-infos nfoline story-meta storymeta \
         credits views-count post-views keywords entry-utility entry-footer post-footer postfooter \
         article-footer article__footer entry-header article-actions article-tools article__meta post__meta \
         dateblock vcard reporter",
    ),
    (Word, Hints::BYLINE, "meta date dates autor auteur topics tag"),
    (
        Start,
        Hints::FOOTER,
        "footer foot- colophon copyright site-info siteinfo bottom-bar legal disclaimer masthead site-header \
         page-header- topbar top-bar siteheader global-header globalheader imprint impressum",
    ),
    (Anywhere, Hints::FOOTER, "-footer _footer pagefooter sitefooter"),
    (
        Start,
        Hints::SIDEBAR,
        "sidebar side-bar aside rightcol right-col right_col rightbar right-rail rightrail leftcol left-col \
         leftbar secondary side- sidecol sidecontent rail marginal supplementary",
    ),
    (Anywhere, Hints::SIDEBAR, "sidebar -aside _aside side-column sidecolumn"),
    (
        Whole,
        Hints::HIDDEN,
        "hide hidden d-none invisible visually-hidden visuallyhidden sr-only screen-reader-text screen-reader \
         element-invisible noprint print-only printonly visible-print is-hidden u-hidden offscreen \
         aria-hidden clip-text hide-print notloaded assistive-text linenos lineno gutter line-numbers \
         screen-reader-only show-for-sr print-hide hide-on-print",
    ),
    (
        Start,
        Hints::CAPTION,
        "caption wp-caption-text img-caption image-caption photo-caption photo-credit figcaption \
         bildunterschrift image-credit picture-caption credit media-caption imgcaption legende",
    ),
    (Anywhere, Hints::CAPTION, "-caption _caption photocredit caption-"),
    (
        Start,
        Hints::WIDGET,
        "widget toolbar tool-bar button btn icon feedback poll- quiz survey search searchform rss slider \
         carousel slick- swiper gallery-nav player video-player jw- embed loading spinner tooltip font-size \
         textsize backtotop back-to-top scroll-top to-top errata report- accessibility vote voting filter \
         sort options expand permission weather ticker stock- live-ticker flash-message alert-bar notice-bar \
         hatnote ambox shortcut language-switch lang-switch langswitch add-to-cart addtocart buybox wishlist \
         cart basket form- contact-form wpcf7 factbox-nav infobar message-container reply-link",
    ),
    (Anywhere, Hints::WIDGET, "-widget _widget toolbar"),
    (
        Start,
        Hints::LEAD,
        "lead standfirst article-intro intro dek subtitle sub-title sub-headline subheadline subhead chapeau \
         sapo article-summary summary abstract excerpt description kicker vorspann anreisser ingress \
         entradilla bajada occhiello sommario",
    ),
    (
        Start,
        Hints::POST,
        "post-message postmessage post_message message-body messagebody message-content message-text \
         messagetext post_body postcontent bbwrapper bbcode forum-post topic-post topic-body cooked \
         js-post-body s-prose answercell postcell post-message-content msg-body usertext-body comment-body \
         commtext answer question",
    ),
];
